// server.hpp: Queues the tool calls of one client, runs the calls in order and writes the answers.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <string>
#include <string_view>

#include "judge/protocol/dialect.hpp"
#include "judge/protocol/line_reader.hpp"

namespace fatune {

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
