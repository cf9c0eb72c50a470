// service.hpp: Defines the interface through which evaluators submit and await compilations.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/interrupt.hpp"
#include "core/result.hpp"
#include "worker/protocol/compilation.hpp"

namespace fatune {

using Ticket = std::uint64_t;

/// For single-threaded use; the owner polls descriptors() and calls pump(). Tests replace the pool
/// by a fake.
class CompileService {
 public:
  virtual ~CompileService() = default;
  virtual Ticket submit(const CompileRequest& request) = 0;
  virtual bool ready(Ticket ticket) const = 0;
  virtual Compiled take(Ticket ticket) = 0;  ///< must be ready
  /// Returns the number of idle compile processes less waiting requests.
  virtual std::size_t idle() const = 0;
  /// Forgets a request in any state; a running compilation is ended.
  virtual void cancel(Ticket ticket) = 0;
  /// Collects results, kills workers past their deadline, and dispatches queued requests. Waits up
  /// to `patience` for an event.
  virtual Status pump(std::chrono::milliseconds patience) = 0;
  virtual std::vector<int> descriptors() const = 0;  ///< to poll
};

/// A compile service, and the identification of its compiler for a kernel.
struct Compilers {
  std::unique_ptr<CompileService> service;
  std::function<std::string(const Kernel&)> identity;
};
using OpenCompilers = std::function<Result<Compilers>()>;

/// Pumps until the ticket is ready or the user interrupts, and takes the result.
inline Result<Compiled> wait_for(CompileService& service, Ticket ticket) {
  while (!service.ready(ticket)) {
    if (interrupted()) return Error{ErrorKind::kInterrupted, "interrupted"};
    FATUNE_TRY_STATUS(service.pump(std::chrono::milliseconds(100)));
  }
  return service.take(ticket);
}

}  // namespace fatune
