// channel.hpp - framed JSON messages over a socket between a parent and its child process.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "core/json.hpp"
#include "core/result.hpp"

namespace fatune {

/// One end of a socket pair; a message is a 4-byte little-endian length and that many bytes of
/// JSON. Owns the descriptor.
class Channel {
 public:
  Channel() = default;
  explicit Channel(int descriptor);
  Channel(Channel&& other) noexcept;
  Channel& operator=(Channel&& other) noexcept;
  ~Channel();

  int descriptor() const { return descriptor_; }
  Status send(const Json& message);
  /// Blocks until a whole message is there, the deadline passes (empty optional) or the peer is
  /// gone (error).
  Result<std::optional<Json>> receive(std::chrono::milliseconds timeout);
  /// Blocks without limit.
  Result<Json> receive();
  void close();

 private:
  int descriptor_ = -1;
  std::string buffer_;
};

/// Two connected ends; neither survives an exec.
struct ChannelPair {
  Channel first, second;
};
Result<ChannelPair> make_channel_pair();

}  // namespace fatune
