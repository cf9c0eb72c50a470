// device_lane.hpp: Sweeps problems on one device of this host, in a separate thread.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "core/result.hpp"
#include "model/results/sweep_result.hpp"
#include "tune/evaluate/evaluator.hpp"
#include "tune/fleet/fleet.hpp"

namespace fatune {

/// Sweeps a part on the evaluator of the lane.
using SweepPart = std::function<Result<ProblemResult>(std::size_t part)>;
using Say = std::function<void(std::string)>;
/// Called in the lane's thread before the first part on an evaluator. `say` sets the lane's said().
using MakeSweepPart =
    std::function<SweepPart(Evaluator& evaluator, const std::string& name, const Say& say)>;

/// Opens, uses and closes the evaluator in one thread, because worker processes die with the thread
/// that started them.
class DeviceLane final : public FleetExecutor {
 public:
  using Open = std::function<Result<std::unique_ptr<Evaluator>>()>;
  DeviceLane(std::string name, Open open, const MakeSweepPart& make);
  ~DeviceLane() override;  ///< waits for the running part

  const std::string& name() const override { return name_; }
  std::string said() const override;
  bool opening() const override;
  const Environment* environment() const override;  ///< null until the device was opened once
  Status failure() const override;
  bool able() const override;
  Status begin(std::size_t part) override;
  Result<PartReport> look() override;
  std::optional<ProblemResult> take_result() override;
  void wait() override;

 private:
  void work();
  bool sweep_parts(Evaluator& evaluator);
  void refuse_parts(const Error& failure);
  std::optional<std::size_t> wait_for_part();
  void end_part(Result<ProblemResult> result);

  std::string name_;
  Open open_;
  const MakeSweepPart& make_;  ///< may be set later, before the first part begins
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool stop_ = false;
  std::optional<Environment> environment_;  ///< set once, because callers keep its address
  std::optional<Error> failure_;            ///< the device could not be opened, or opened again
  std::optional<std::size_t> part_;         ///< the running part
  std::optional<Result<ProblemResult>> result_;
  std::string said_;
  std::thread thread_;
};

}  // namespace fatune
