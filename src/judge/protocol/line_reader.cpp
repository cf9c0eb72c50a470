// line_reader.cpp: Reads lines with poll and read; drops a line above the limit as it arrives.
#include "judge/protocol/line_reader.hpp"

#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

#include <poll.h>
#include <unistd.h>

namespace fatune {
namespace {

Error broken_input(int reason) {
  return environment_error("stdin: cannot read: " + std::generic_category().message(reason));
}

}  // namespace

Status LineReader::wait(std::chrono::milliseconds patience) {
  pollfd watched{descriptor_, POLLIN, 0};
  const int ready = ::poll(&watched, 1, static_cast<int>(patience.count()));
  if (ready < 0 && errno != EINTR) return broken_input(errno);
  if (ready <= 0) return {};
  std::array<char, 65536> bytes{};
  const ssize_t count = ::read(descriptor_, bytes.data(), bytes.size());
  if (count < 0) return errno == EINTR || errno == EAGAIN ? Status() : broken_input(errno);
  ended_ = count == 0;
  buffer_.append(bytes.data(), static_cast<std::size_t>(count));
  return {};
}

std::optional<LineReader::Line> LineReader::next() {
  const std::size_t end = buffer_.find('\n', searched_);
  if (end != std::string::npos) return take(end);
  if (buffer_.size() > limit_) {
    dropping_ = true;
    buffer_.clear();
  }
  searched_ = buffer_.size();
  if (!ended_ || (buffer_.empty() && !dropping_)) return std::nullopt;
  return take(buffer_.size());
}

LineReader::Line LineReader::take(std::size_t end) {
  Line line{buffer_.substr(0, end), std::exchange(dropping_, false) || end > limit_};
  buffer_.erase(0, end + 1);
  searched_ = 0;
  if (line.too_long) line.text.clear();
  return line;
}

}  // namespace fatune
