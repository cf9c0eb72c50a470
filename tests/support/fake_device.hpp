// fake_device.hpp - an attention problem on a fake driver: a host function as candidate to the
// answers of the device worker.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "support/fake_driver.hpp"
#include "support/temporary_folder.hpp"
#include "worker/device/device_problem.hpp"
#include "worker/device/loaded_program.hpp"
#include "worker/gates/gates.hpp"

namespace fatune::test {

/// A launch's tensors, in f16 and, lse, fp32.
struct HostTensors {
  const std::uint16_t *q = nullptr, *k = nullptr, *v = nullptr;
  std::uint16_t* out = nullptr;
  float* lse = nullptr;
};
using HostKernel = std::function<void(const HostTensors&)>;

/// Everything of a device worker but the process, and no NVML: one problem, its reference, its
/// inputs. Tests go through the functions here, so that the worker's classes can change.
class FakeDevice {
 public:
  FakeDevice();
  FakeDevice(const FakeDevice&) = delete;
  FakeDevice& operator=(const FakeDevice&) = delete;
  ~FakeDevice();

  /// Attention as a right kernel computes it.
  void attend(const HostTensors& tensors) const;
  std::size_t elements() const { return static_cast<std::size_t>(order.problem.query_elements()); }
  std::size_t rows() const { return static_cast<std::size_t>(order.problem.rows()); }

  /// A program of one launch, which takes `us` and runs `kernel`; an entry of that name in
  /// `driver`.
  Program program(HostKernel kernel, const std::string& entry = "candidate", double us = kUs);
  /// attend() with something done to its outputs.
  Program wrong(HostKernel after);

  /// Makes the problem, unless it is there.
  Status begin();
  /// Checks and times a candidate as a sweep does, hot and cold.
  RunReply run(const Program& program);
  RunReply run(const RunOrder& order);
  Result<RoundsReply> rounds(const RoundsOrder& order);
  /// The gates before the timing, alone.
  MaybeFailure verify(const Program& program, Verification* found = nullptr);
  MaybeFailure verify(Executable& program, Verification* found = nullptr);
  GateContext gates(Executable& program);  ///< of a problem that has begun
  /// The gate of layers alone, as in the final phase.
  MaybeFailure check_in_layer(Executable& program, Verification* found);
  DeviceProblem& problem() { return *problem_; }

  /// Chosen: well above every floor, and a replay is a single launch.
  static constexpr double kUs = 400;
  /// Of a layer's product. Chosen: layers settle after a few replays.
  static constexpr double kProductUs = 2'000;

  FakeDriver driver;
  /// Two sets of inputs, with lse; its layouts may be changed before it begins. A launch may take
  /// 20 ms.
  BeginOrder order;
  std::vector<std::string> phases;  ///< as reported to the parent

 private:
  void define_checks();
  void define_reference(const std::string& entry, bool low_precision);
  Program program_of(const std::string& entry) const;
  Status open();
  Result<std::unique_ptr<BatchedGemm>> open_product(const GemmPlan& plan);

  TemporaryFolder folder_;
  std::unique_ptr<DeviceSession> session_;
  std::unique_ptr<DeviceProblem> problem_;
};

}  // namespace fatune::test
