// outside.hpp - implementations from elsewhere, opened in the device worker and kept for a problem.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "core/result.hpp"
#include "gpu/objects.hpp"
#include "model/problem/problem.hpp"
#include "worker/baselines/executable.hpp"
#include "worker/protocol/implementation.hpp"

namespace fatune {

/// What an implementation is opened on.
struct OutsideSetting {
  const gpu::Context& context;
  CUstream stream;
  Problem problem;
  std::int64_t l2_bytes = 0;
  std::string device_uuid{};  ///< for processes that are to use the same device; empty: the first
};

/// Keeps what is slow to open: library handles and helper processes for the life of the worker,
/// executables for that of a problem.
class OutsideHost {
 public:
  OutsideHost();
  ~OutsideHost();
  OutsideHost(const OutsideHost&) = delete;
  OutsideHost& operator=(const OutsideHost&) = delete;

  /// Announces a program that will be opened: helper processes start now, without waiting for them.
  void expect(const OutsideProgram& program, const std::string& device_uuid);
  /// Forgets the executables of the problem before.
  void forget();
  bool holds(const std::string& impl) const { return open_.contains(impl); }
  /// An environment error says what is missing and what installs it. The executable stays the
  /// host's, until forget().
  Result<Executable*> open(const OutsideProgram& program, const OutsideSetting& setting);

 private:
  struct Processes;
  std::unique_ptr<Processes> processes_;
  std::map<std::string, std::unique_ptr<Executable>> open_;
};

}  // namespace fatune
