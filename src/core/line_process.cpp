// line_process.cpp - lines to bytes on a socket and back, with deadlines.
#include "core/line_process.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <system_error>
#include <utility>

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>

namespace fatune {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kMoment{300};  // to end of its own accord
/// Chosen: far above any line, so a longer one means that the program does not speak in lines.
constexpr std::size_t kLongestLine = std::size_t{1} << 24;

Error broken(const std::string& doing, int reason) {
  return device_error("cannot " + doing + " it: " + std::generic_category().message(reason));
}

/// False at the deadline. Milliseconds are rounded up, so that it does not spin before it.
Result<bool> wait_readable(int descriptor, Clock::time_point deadline) {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd wanted{descriptor, POLLIN, 0};
    const int ready =
        ::poll(&wanted, 1, static_cast<int>(std::clamp<std::int64_t>(left, 0, 1'000'000'000)));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return broken("wait for", errno);
    if (Clock::now() >= deadline) return false;
  }
}

}  // namespace

Result<LineProcess> LineProcess::start(ChildCommand command) {
  command.talk = ChildTalk::kText;
  LineProcess process;
  FATUNE_TRY(process.child_, Child::start(command));
  return process;
}

Status LineProcess::send(std::string_view line) {
  const std::string bytes = std::string(line) + "\n";
  std::size_t sent = 0;
  while (sent < bytes.size()) {
    const ssize_t count = ::send(child_.channel().descriptor(), bytes.data() + sent,
                                 bytes.size() - sent, MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return broken("write to", errno);
    sent += static_cast<std::size_t>(count);
  }
  return {};
}

std::optional<std::string> LineProcess::take_line() {
  const std::size_t end = buffer_.find('\n');
  if (end == std::string::npos) return std::nullopt;
  std::string line = buffer_.substr(0, end);
  buffer_.erase(0, end + 1);
  return line;
}

Result<std::optional<std::string>> LineProcess::receive(std::chrono::milliseconds patience) {
  const auto deadline = Clock::now() + patience;
  std::array<char, 1 << 14> chunk;
  for (;;) {
    if (auto line = take_line()) return line;
    if (buffer_.size() > kLongestLine) return device_error("it sends no ends of lines");
    FATUNE_TRY(const bool readable, wait_readable(child_.channel().descriptor(), deadline));
    if (!readable) return std::optional<std::string>();
    const ssize_t count = ::recv(child_.channel().descriptor(), chunk.data(), chunk.size(), 0);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return broken("read from", errno);
    if (count == 0) return device_error("it closed its stdout");
    buffer_.append(chunk.data(), static_cast<std::size_t>(count));
  }
}

ChildEnd LineProcess::stop() {
  auto end = child_.wait(kMoment);
  if (!end) end = child_.kill();
  child_ = Child();
  buffer_.clear();
  return end.value_or(ChildEnd{.signalled = true, .code = SIGKILL});
}

}  // namespace fatune
