// dialect.hpp - a client's line to what it asks for, and what becomes of that to lines; MCP and
// plain JSON lines.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "judge/protocol/services.hpp"

namespace fatune {

/// A call of a tool as a client has asked for it.
struct ToolCall {
  const Tool* tool = nullptr;
  std::shared_ptr<const Json> arguments;
  std::string id;          ///< JSON text; empty: the client gave none
  std::string progress;    ///< JSON text: what progress is addressed to; empty: none is wanted
  bool stateless = false;  ///< of MCP's revision 2026-07-28
};

/// What a line asks for; all empty for one that needs nothing.
struct Heard {
  std::string answer{};  ///< a line to send at once
  std::optional<ToolCall> call{};
  std::string cancelled{};  ///< id of a call that is not wanted any more
};

/// Lines are without their line breaks. None is sent where a text is empty.
class Dialect {
 public:
  virtual ~Dialect() = default;
  virtual Heard hear(std::string_view line) = 0;
  /// Of a line that was not read, by what was wrong with it.
  virtual std::string unheard(const std::string& problem) const = 0;
  /// Of a call that is not begun.
  virtual std::string refusal(const ToolCall& call, const std::string& problem) const = 0;
  virtual std::string answer(const ToolCall& call, const Result<Json>& result) const = 0;
  virtual std::string cancelled(const ToolCall& call) const = 0;
  /// `step` grows by one from call to call.
  virtual std::string progress(const ToolCall& call, int step, std::string_view phase) const = 0;
};

/// The Model Context Protocol: revision 2026-07-28, which has no sessions, and the two before it,
/// whose clients begin with `initialize`. The services outlive it.
std::unique_ptr<Dialect> make_mcp(const Services& services);
/// `{"id": 1, "tool": "list_problems", "arguments": {}}`, `{"resource": "fatune://"}`,
/// `{"prompt": "free", "arguments": {...}}` and `{"cancel": 1}`.
std::unique_ptr<Dialect> make_json_lines(const Services& services);

}  // namespace fatune
