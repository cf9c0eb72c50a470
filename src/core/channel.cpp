// channel.cpp: Sends and receives framed JSON messages on a socket.
#include "core/channel.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <system_error>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <sys/socket.h>

namespace fatune {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kHeader = sizeof(std::uint32_t);
static_assert(std::endian::native == std::endian::little, "lengths are sent as they lie in memory");
/// Chosen far above any message: a larger length means that the stream is corrupt.
constexpr std::size_t kLargestMessage = std::size_t{1} << 30;
constexpr Peer kWorker{ErrorKind::kEnvironment, "the worker process",
                       "the worker process closed its channel"};

/// Returns the milliseconds for poll(2), rounded up so that poll does not spin before the deadline.
int remaining(std::optional<Clock::time_point> deadline) {
  if (!deadline) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(*deadline - Clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 1'000'000'000));
}

/// Removes the first message from `buffer`; empty if the message is incomplete.
Result<std::optional<Json>> take_message(std::string& buffer) {
  if (buffer.size() < kHeader) return std::optional<Json>();
  std::uint32_t length = 0;
  std::memcpy(&length, buffer.data(), kHeader);
  if (length > kLargestMessage) {
    return environment_error(fmt::format(
        "the channel to the worker process is out of step: a message of {} bytes", length));
  }
  if (buffer.size() < kHeader + length) return std::optional<Json>();
  Result<Json> message =
      parse_json(std::string_view(buffer).substr(kHeader, length), "message between processes");
  buffer.erase(0, kHeader + length);
  if (!message) return std::move(message).error();
  return std::optional<Json>(*std::move(message));
}

/// Returns the message behind its length.
std::string framed(const Json& message) {
  const std::string body = dump(message);
  const auto length = static_cast<std::uint32_t>(body.size());
  std::string frame(kHeader, 0);
  std::memcpy(frame.data(), &length, kHeader);
  return frame + body;
}

}  // namespace

Error Peer::broken(std::string_view doing, int reason) const {
  return {kind,
          fmt::format("cannot {} {}: {}", doing, name, std::generic_category().message(reason))};
}

Status send_all(int descriptor, std::string_view bytes, const Peer& peer) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(descriptor, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return peer.broken("write to", errno);
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return {};
}

Result<bool> receive_some(int descriptor, std::optional<Clock::time_point> deadline,
                          const Peer& peer, std::string& buffer) {
  std::array<char, 1 << 16> chunk;
  for (;;) {
    pollfd wanted{descriptor, POLLIN, 0};
    const int ready = ::poll(&wanted, 1, remaining(deadline));
    if (ready < 0 && errno != EINTR) return peer.broken("wait for", errno);
    if (ready <= 0 && deadline && Clock::now() >= *deadline) return false;
    if (ready <= 0) continue;
    const ssize_t count = ::recv(descriptor, chunk.data(), chunk.size(), 0);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return peer.broken("read from", errno);
    if (count == 0) return Error{peer.kind, std::string(peer.gone)};
    buffer.append(chunk.data(), static_cast<std::size_t>(count));
    return true;
  }
}

Result<ChannelPair> make_channel_pair() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return kWorker.broken("make a channel to", errno);
  }
  return ChannelPair{Channel(ends[0]), Channel(ends[1])};
}

Status Channel::send(const Json& message) {
  const std::string bytes = framed(message);
  if (bytes.size() > kHeader + kLargestMessage) {
    return environment_error(
        fmt::format("a message of {} bytes is too large for the worker process", bytes.size()));
  }
  return send_all(socket_.raw(), bytes, kWorker);
}

Result<std::optional<Json>> Channel::receive_until(std::optional<Clock::time_point> deadline) {
  for (;;) {
    FATUNE_TRY(std::optional<Json> message, take_message(buffer_));
    if (message) return message;
    FATUNE_TRY(const bool arrived, receive_some(socket_.raw(), deadline, kWorker, buffer_));
    if (!arrived) return std::optional<Json>();
  }
}

Result<std::optional<Json>> Channel::receive(std::chrono::milliseconds timeout) {
  return receive_until(Clock::now() + timeout);
}

Result<Json> Channel::receive() {
  FATUNE_TRY(std::optional<Json> message, receive_until(std::nullopt));
  FATUNE_CHECK(message.has_value(), "without a deadline there is a message or an error");
  return *std::move(message);
}

}  // namespace fatune
