// fake_device.hpp: Runs a host function as a candidate through the device worker on a fake driver.
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

/// The tensors of a launch, in f16 and, for lse, fp32.
struct HostTensors {
  const std::uint16_t *q = nullptr, *k = nullptr, *v = nullptr;
  std::uint16_t* out = nullptr;
  float* lse = nullptr;
};
using HostKernel = std::function<void(const HostTensors&)>;

/// A device worker without process and NVML: one problem, its reference and inputs. Tests use these
/// functions only, so that the worker's classes can change.
class FakeDevice {
 public:
  FakeDevice();
  FakeDevice(const FakeDevice&) = delete;
  FakeDevice& operator=(const FakeDevice&) = delete;
  ~FakeDevice();

  /// Computes correct attention.
  void attend(const HostTensors& tensors) const;
  const Attention& attention() const { return order.problem.as_attention(); }
  std::size_t elements() const { return static_cast<std::size_t>(attention().query_elements()); }
  std::size_t rows() const { return static_cast<std::size_t>(attention().rows()); }

  /// Returns a program of one launch that takes `us` and runs `kernel`, as an entry of `driver`.
  Program program(HostKernel kernel, const std::string& entry = "candidate", double us = kUs);
  /// Returns a program of attend() whose outputs `after` modifies.
  Program wrong(HostKernel after);

  /// Begins the problem unless it has begun.
  Status begin();
  /// Checks and times a candidate as a sweep does, hot and cold.
  RunReply run(const Program& program);
  RunReply run(const RunOrder& order);
  Result<RoundsReply> rounds(const RoundsOrder& order);
  /// Runs only the gates before the timing.
  MaybeFailure verify(const Program& program, Verification* found = nullptr);
  MaybeFailure verify(Executable& program, Verification* found = nullptr);
  GateContext gates(Executable& program);  ///< for a problem that has begun
  /// Runs only the layer gate, as in the final phase.
  MaybeFailure check_in_layer(Executable& program, Verification* found);
  DeviceProblem& problem() { return *problem_; }

  /// Chosen: well above every floor, and one replay is one launch.
  static constexpr double kUs = 400;
  /// Time of a layer's product. Chosen: layers settle after a few replays.
  static constexpr double kProductUs = 2'000;

  FakeDriver driver;
  /// A problem with two sets of inputs and lse, whose layouts tests may change before it begins. A
  /// launch may take 20 ms.
  BeginOrder order;
  std::vector<std::string> phases;  ///< phases reported to the parent

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
