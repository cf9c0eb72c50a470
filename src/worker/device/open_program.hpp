// open_program.hpp - a program of either kind to something that can be bound and queued.
#pragma once

#include <memory>

#include "core/result.hpp"
#include "worker/baselines/executable.hpp"
#include "worker/device/device_problem.hpp"
#include "worker/device/device_session.hpp"
#include "worker/protocol/messages.hpp"

namespace fatune {

/// Owns templates' machine code; an implementation from elsewhere belongs to the session's host.
class OpenProgram {
 public:
  OpenProgram() = default;
  /// Bound to the first set of inputs. The first time that an implementation from elsewhere is
  /// opened for a problem, it settles on its plan.
  static Result<OpenProgram> open(DeviceSession& session, DeviceProblem& problem,
                                  const Program& program);
  Executable& operator*() const { return *executable_; }
  Executable* operator->() const { return executable_; }

 private:
  std::unique_ptr<Executable> owned_;
  Executable* executable_ = nullptr;
};

}  // namespace fatune
