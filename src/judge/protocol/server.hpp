// server.hpp - a client's lines to calls, one after another, and their answers to a stream.
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

/// What no client can widen; chosen.
struct ServerLimits {
  std::size_t line_bytes = std::size_t{4} << 20U;
  std::size_t waiting = 64;  ///< calls that have not begun; more are refused
  int calls_a_minute = 600;  ///< more are refused, too
};

/// Serves one client. A call runs in this thread; meanwhile its heartbeats hear the client.
class Server {
 public:
  using Clock = std::chrono::steady_clock;
  using Write = std::function<Status(std::string_view line)>;

  /// `write` adds the line break.
  Server(Dialect& dialect, int input, Write write, const ServerLimits& limits = {});
  /// Returns when the client has closed its end and every call is answered; an error when the
  /// answers cannot be written, and at an interrupt.
  Status run();
  /// For tests.
  std::function<Clock::time_point()> now = Clock::now;

 private:
  Status listen(std::chrono::milliseconds patience);
  Status hear(const LineReader::Line& line);
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
  std::deque<ToolCall> calls_;              ///< the first runs while `running_`
  std::deque<Clock::time_point> admitted_;  ///< within the last minute
  bool running_ = false, cancelled_ = false;
  int step_ = 0;       ///< of the running call's progress
  std::string phase_;  ///< told last
};

}  // namespace fatune
