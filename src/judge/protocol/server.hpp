// server.hpp: Serves one client over lines of limited length, in a dialect.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
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

class LineReader {
 public:
  struct Line {
    std::string text;
    bool too_long = false;  ///< the line exceeded the limit; its text was dropped
  };

  /// The caller keeps ownership of `descriptor`.
  LineReader(int descriptor, std::size_t limit) : descriptor_(descriptor), limit_(limit) {}

  /// Waits up to `patience` for bytes and reads them; a signal ends the wait.
  Status wait(std::chrono::milliseconds patience);
  /// Returns the oldest unread line. At the end of input, text without a line break is a line.
  std::optional<Line> next();
  bool ended() const { return ended_; }

 private:
  Line take(std::size_t end);

  int descriptor_;
  std::size_t limit_;
  std::string buffer_;
  std::size_t begin_ = 0;     ///< of the oldest unread line
  std::size_t searched_ = 0;  ///< bytes of the buffer already searched for a line break
  bool dropping_ = false;     ///< the reader discards bytes up to the next line break
  bool ended_ = false;
};

/// Limits on one client; no client can raise them. All values are chosen.
struct ServerLimits {
  std::size_t line_bytes = std::size_t{4} << 20U;
  std::size_t waiting = 64;  ///< queued calls; the server refuses further calls
  int calls_a_minute = 600;  ///< the server refuses further calls
};

/// Serves one client. A call runs in the calling thread; its heartbeats read the client's lines.
class Server {
 public:
  using Clock = std::chrono::steady_clock;
  using Write = std::function<Status(std::string_view line)>;

  /// `write` adds the line break.
  Server(Dialect& dialect, int input, Write write, const ServerLimits& limits = {});
  /// Returns once the client has closed its end and every call is answered. Fails if an answer
  /// cannot be written, or at an interrupt.
  Status run();
  /// Replaced by tests.
  std::function<Clock::time_point()> now = Clock::now;

 private:
  Status read_lines(std::chrono::milliseconds patience);
  Status handle(const LineReader::Line& line);
  Status admit(ToolCall call);
  Status cancel(const std::string& id);
  Status serve_next();
  Status beat(std::string_view phase);
  Status send(const std::string& line);
  std::string reason_against(const ToolCall& call);

  Dialect& dialect_;
  LineReader reader_;
  Write write_;
  ServerLimits limits_;
  std::deque<ToolCall> calls_;              ///< the first call runs while `running_`
  std::deque<Clock::time_point> admitted_;  ///< admission times within the last minute
  bool running_ = false, cancelled_ = false;
  int step_ = 0;       ///< progress step of the running call
  std::string phase_;  ///< phase of the latest progress message
};

}  // namespace fatune
