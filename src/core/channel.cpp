// channel.cpp - JSON messages to framed bytes on a socket and back.
#include "core/channel.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <system_error>
#include <utility>

#include <nlohmann/json.hpp>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace fatune {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kHeader = 4;
/// Chosen: far above any message, so a larger length means that the stream is out of step.
constexpr std::size_t kLargestMessage = std::size_t{1} << 30;

Error broken(const std::string& doing, int reason) {
  return environment_error("cannot " + doing +
                           " the worker process: " + std::generic_category().message(reason));
}

std::array<char, kHeader> header_of(std::size_t length) {
  std::array<char, kHeader> header{};
  for (std::size_t i = 0; i < kHeader; ++i) {
    header[i] = static_cast<char>(static_cast<unsigned char>(length >> (8 * i)));
  }
  return header;
}

std::size_t length_in(std::string_view header) {
  std::size_t length = 0;
  for (std::size_t i = 0; i < kHeader; ++i) {
    length |= static_cast<std::size_t>(static_cast<unsigned char>(header[i])) << (8 * i);
  }
  return length;
}

/// Milliseconds for poll(2), rounded up so that it does not spin before the deadline.
int remaining(Clock::time_point deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 1'000'000'000));
}

/// True when there is something to read (or the peer is gone), false at the deadline.
Result<bool> wait_readable(int descriptor, std::optional<Clock::time_point> deadline) {
  for (;;) {
    pollfd wanted{descriptor, POLLIN, 0};
    const int ready = ::poll(&wanted, 1, deadline ? remaining(*deadline) : -1);
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return broken("wait for", errno);
    if (deadline && Clock::now() >= *deadline) return false;
  }
}

/// Adds what has arrived to `buffer`; an error when the peer is gone.
Status read_some(int descriptor, std::string& buffer) {
  std::array<char, 1 << 16> chunk;
  for (;;) {
    const ssize_t count = ::recv(descriptor, chunk.data(), chunk.size(), 0);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return broken("read from", errno);
    if (count == 0) return environment_error("the worker process closed its channel");
    buffer.append(chunk.data(), static_cast<std::size_t>(count));
    return {};
  }
}

/// Takes one message off the front of `buffer`, if a whole one is there.
Result<std::optional<Json>> take_message(std::string& buffer) {
  if (buffer.size() < kHeader) return std::optional<Json>();
  const std::size_t length = length_in(buffer);
  if (length > kLargestMessage) {
    return environment_error("the channel to the worker process is out of step: a message of " +
                             std::to_string(length) + " bytes");
  }
  if (buffer.size() < kHeader + length) return std::optional<Json>();
  Result<Json> message =
      parse_json(std::string_view(buffer).substr(kHeader, length), "message between processes");
  buffer.erase(0, kHeader + length);
  if (!message) return std::move(message).error();
  return std::optional<Json>(*std::move(message));
}

Result<std::optional<Json>> receive_until(int descriptor, std::string& buffer,
                                          std::optional<Clock::time_point> deadline) {
  for (;;) {
    FATUNE_TRY(std::optional<Json> message, take_message(buffer));
    if (message) return message;
    FATUNE_TRY(const bool readable, wait_readable(descriptor, deadline));
    if (!readable) return std::optional<Json>();
    FATUNE_TRY_STATUS(read_some(descriptor, buffer));
  }
}

}  // namespace

Result<ChannelPair> make_channel_pair() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return broken("make a channel to", errno);
  }
  return ChannelPair{Channel(ends[0]), Channel(ends[1])};
}

Channel::Channel(int descriptor) : descriptor_(descriptor) {}

Channel::Channel(Channel&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), buffer_(std::move(other.buffer_)) {}

Channel& Channel::operator=(Channel&& other) noexcept {
  if (this == &other) return *this;
  close();
  descriptor_ = std::exchange(other.descriptor_, -1);
  buffer_ = std::move(other.buffer_);
  return *this;
}

Channel::~Channel() { close(); }

void Channel::close() {
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = -1;
  buffer_.clear();
}

Status Channel::send(const Json& message) {
  const std::string body = dump(message);
  if (body.size() > kLargestMessage) {
    return environment_error("a message of " + std::to_string(body.size()) +
                             " bytes is too large for the worker process");
  }
  const auto header = header_of(body.size());
  const std::string frame = std::string(header.data(), header.size()) + body;
  for (std::string_view rest = frame; !rest.empty();) {
    const ssize_t sent = ::send(descriptor_, rest.data(), rest.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return broken("write to", errno);
    rest.remove_prefix(static_cast<std::size_t>(sent));
  }
  return {};
}

Result<std::optional<Json>> Channel::receive(std::chrono::milliseconds timeout) {
  return receive_until(descriptor_, buffer_, Clock::now() + timeout);
}

Result<Json> Channel::receive() {
  FATUNE_TRY(std::optional<Json> message, receive_until(descriptor_, buffer_, std::nullopt));
  FATUNE_CHECK(message.has_value(), "without a deadline there is a message or an error");
  return *std::move(message);
}

}  // namespace fatune
