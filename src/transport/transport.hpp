// transport.hpp - bytes between the processes of one sweep on several hosts; the seam behind which
// MPI stands.
#pragma once

#include <optional>
#include <string>

#include "core/result.hpp"

namespace fatune {

struct Parcel {
  int from = 0;
  std::string bytes;
};

/// Ranks 0 to size() - 1 that know each other from the start. What one rank sends to another comes
/// whole and in order, or not at all: nobody is told of a rank that died.
class Transport {
 public:
  virtual ~Transport() = default;
  virtual int rank() const = 0;  ///< of this process
  virtual int size() const = 0;
  virtual std::string host(int rank) const = 0;
  /// Returns at once; the bytes go on their way with later calls.
  virtual Status send(int to, std::string bytes) = 0;
  /// The next that has arrived from anybody; does not wait.
  virtual Result<std::optional<Parcel>> poll() = 0;
  /// Once every rank that lives calls it. A process that ends without leaves the others waiting.
  virtual Status end() { return {}; }
};

}  // namespace fatune
