// service.hpp - compilations as the evaluator asks for them: submitted and awaited.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/result.hpp"
#include "worker/protocol/compilation.hpp"

namespace fatune {

using Ticket = std::uint64_t;

/// Single-threaded use; the owner polls descriptors() and calls pump(). Tests put a fake in the
/// place of the pool.
class CompileService {
 public:
  virtual ~CompileService() = default;
  virtual Ticket submit(const CompileRequest& request) = 0;
  virtual bool ready(Ticket ticket) const = 0;
  virtual Compiled take(Ticket ticket) = 0;  ///< must be ready
  /// Compile processes that have nothing to do and nothing waiting for them.
  virtual std::size_t idle() const = 0;
  /// Forgets a request, whatever became of it so far; a compilation under way is ended.
  virtual void cancel(Ticket ticket) = 0;
  /// Moves results out of workers, kills those past their deadline, hands out queued work. Waits up
  /// to `patience` for something.
  virtual Status pump(std::chrono::milliseconds patience) = 0;
  virtual std::vector<int> descriptors() const = 0;  ///< to poll
};

/// Pumps until the ticket is ready, and takes it.
inline Result<Compiled> wait_for(CompileService& service, Ticket ticket) {
  while (!service.ready(ticket)) FATUNE_TRY_STATUS(service.pump(std::chrono::milliseconds(100)));
  return service.take(ticket);
}

}  // namespace fatune
