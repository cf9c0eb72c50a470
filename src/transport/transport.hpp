// transport.hpp: Defines the interface that carries bytes between the processes of one sweep.
#pragma once

#include <optional>
#include <string>

#include "core/result.hpp"

namespace fatune {

struct Parcel {
  int from = 0;
  std::string bytes;
};

/// Connects ranks 0 to size() - 1. Messages of one rank to another arrive whole and in order, or
/// not at all. The death of a rank is not reported.
class Transport {
 public:
  virtual ~Transport() = default;
  virtual int rank() const = 0;  ///< of this process
  virtual int size() const = 0;
  virtual std::string host(int rank) const = 0;
  /// Returns at once; later calls complete the sending.
  virtual Status send(int to, std::string bytes) = 0;
  /// Returns the next message from any rank, if one has arrived, without waiting.
  virtual Result<std::optional<Parcel>> poll() = 0;
  /// Leaves the transport together with all living ranks. A process that ends without end() leaves
  /// the others waiting.
  virtual Status end() { return {}; }
};

}  // namespace fatune
