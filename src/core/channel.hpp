// channel.hpp - framed JSON messages over a socket between a parent and its child process.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "core/descriptor.hpp"
#include "core/json.hpp"
#include "core/result.hpp"

namespace fatune {

/// The process at the other end of a socket, as errors speak of it.
struct Peer {
  ErrorKind kind;
  std::string_view name;  ///< "the worker process"
  std::string_view gone;  ///< "the worker process closed its channel"

  Error broken(std::string_view doing, int reason) const;
};
Status send_all(int descriptor, std::string_view bytes, const Peer& peer);
/// Adds what has arrived to `buffer`, for which it waits; false at the deadline. An error when the
/// peer is gone.
Result<bool> receive_some(int descriptor,
                          std::optional<std::chrono::steady_clock::time_point> deadline,
                          const Peer& peer, std::string& buffer);

/// One end of a socket pair; a message is a 4-byte little-endian length and that many bytes of
/// JSON. Owns the descriptor.
class Channel {
 public:
  Channel() = default;
  explicit Channel(int descriptor) : socket_(descriptor) {}

  int descriptor() const { return socket_.raw(); }
  Status send(const Json& message);
  /// Keeps the message; flush() sends on what the other end takes without waiting.
  void post(const Json& message);
  Status flush();
  /// Blocks until a whole message is there, the deadline passes (empty optional) or the peer is
  /// gone (error).
  Result<std::optional<Json>> receive(std::chrono::milliseconds timeout);
  /// Blocks without limit.
  Result<Json> receive();
  void close() { *this = Channel(); }

 private:
  Result<std::optional<Json>> receive_until(
      std::optional<std::chrono::steady_clock::time_point> deadline);

  Descriptor socket_;
  std::string buffer_, posted_;
};

/// Two connected ends; neither survives an exec.
using ChannelPair = std::pair<Channel, Channel>;
Result<ChannelPair> make_channel_pair();

}  // namespace fatune
