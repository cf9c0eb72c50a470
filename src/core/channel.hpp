// channel.hpp: Declares framed JSON messages over a socket between parent and child process.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "core/descriptor.hpp"
#include "core/json.hpp"
#include "core/result.hpp"

namespace fatune {

/// The process at the other end of a socket, as error messages name it.
struct Peer {
  ErrorKind kind;
  std::string_view name;  ///< "the worker process"
  std::string_view gone;  ///< "the worker process closed its channel"

  Error broken(std::string_view doing, int reason) const;
};
Status send_all(int descriptor, std::string_view bytes, const Peer& peer);
/// Waits for bytes and adds them to `buffer`; false at the deadline. It is an error if the peer is
/// gone.
Result<bool> receive_some(int descriptor,
                          std::optional<std::chrono::steady_clock::time_point> deadline,
                          const Peer& peer, std::string& buffer);

/// One end of a socket pair. A message is a 4-byte little-endian length and as many bytes of JSON.
/// The channel owns the descriptor.
class Channel {
 public:
  Channel() = default;
  explicit Channel(int descriptor) : socket_(descriptor) {}

  int descriptor() const { return socket_.raw(); }
  Status send(const Json& message);
  /// Waits for a complete message. Empty after `timeout`; an error if the peer is gone.
  Result<std::optional<Json>> receive(std::chrono::milliseconds timeout);
  /// Waits without limit.
  Result<Json> receive();
  void close() { *this = Channel(); }

 private:
  Result<std::optional<Json>> receive_until(
      std::optional<std::chrono::steady_clock::time_point> deadline);

  Descriptor socket_;
  std::string buffer_;
};

/// Two connected ends, both close-on-exec.
using ChannelPair = std::pair<Channel, Channel>;
Result<ChannelPair> make_channel_pair();

}  // namespace fatune
