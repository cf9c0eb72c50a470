// dialect.hpp: Declares the translation between a client's lines and tool calls.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "judge/protocol/services.hpp"

namespace fatune {

/// A client's call of one tool.
struct ToolCall {
  const Tool* tool = nullptr;
  std::shared_ptr<const Json> arguments;
  std::string id;          ///< JSON text; empty if the client gave none
  std::string progress;    ///< JSON text of the progress token; empty if the client gave none
  bool stateless = false;  ///< the call follows MCP revision 2026-07-28
};

/// The request in one line. All members are empty if the line needs no action.
struct ParsedLine {
  std::string answer{};  ///< line to send at once
  std::optional<ToolCall> call{};
  std::string cancelled{};  ///< id of the call that the client cancelled
};

/// Translates lines without their line breaks. The server sends nothing where a text is empty.
class Dialect {
 public:
  virtual ~Dialect() = default;
  virtual ParsedLine parse(std::string_view line) = 0;
  /// Returns the reply to a line that could not be read; `problem` is the reason.
  virtual std::string unreadable(const std::string& problem) const = 0;
  /// Returns the reply to a call that the server refuses to start.
  virtual std::string refusal(const ToolCall& call, const std::string& problem) const = 0;
  virtual std::string answer(const ToolCall& call, const Result<Json>& result) const = 0;
  virtual std::string cancelled(const ToolCall& call) const = 0;
  /// `step` grows by one with each progress message of a call.
  virtual std::string progress(const ToolCall& call, int step, std::string_view phase) const = 0;
};

/// Makes the Model Context Protocol: revision 2026-07-28, which has no sessions, and the two older
/// revisions that start with `initialize`. `services` must outlive the dialect.
std::unique_ptr<Dialect> make_mcp(const Services& services);
/// Makes plain JSON lines: `{"id": 1, "tool": "list_problems", "arguments": {}}`, `{"resource":
/// "fatune://"}`, `{"prompt": "free", "arguments": {...}}` and `{"cancel": 1}`.
std::unique_ptr<Dialect> make_json_lines(const Services& services);

}  // namespace fatune
