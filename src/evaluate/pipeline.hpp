// pipeline.hpp - candidates through compilers and device to records, in order of submission.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "evaluate/compile_service.hpp"
#include "evaluate/device_worker.hpp"
#include "evaluate/evaluator.hpp"

namespace fatune {

/// The callbacks of an Evaluator, as they are at the moment of the call.
struct PipelineEvents {
  std::function<Status(const StartedRecord&)> started;
  Note progress;
};

/// Compiles ahead; the device runs strictly in the order of submission, so that the best so far is
/// the same in every run that measures the same.
class Pipeline {
 public:
  Pipeline(CompileService& compiler, DeviceWorker& worker, DeviceLimits limits,
           std::string id_options, PipelineEvents events);

  /// Forgets what belongs to the problem before; nothing may be in flight.
  void begin(const EvaluationPlan& plan);
  /// Takes note of an earlier run's result: for duplicates of its machine code and the best so far.
  void remember(const Candidate& candidate, const CandidateRecord& record);
  Status submit(const Candidate& candidate);
  Result<CandidateRecord> collect();
  std::size_t in_flight() const { return entries_.size(); }

 private:
  using Clock = std::chrono::steady_clock;
  enum class State { kCompiling, kReady, kRunning, kDone };
  struct Entry {
    CandidateRecord record;
    LaunchPlan plan;
    Ticket ticket = 0;
    Compiled compiled;
    State state = State::kCompiling;
    Clock::time_point submitted, ready;
  };

  void absorb_compiled();
  Status dispatch();
  Status step();
  Status absorb_run();
  void wait_for_events();
  bool settle_without_device(Entry& entry);
  RunOrder order_for(const Entry& entry) const;
  void note_best(const CandidateRecord& record);

  CompileService& compiler_;
  DeviceWorker& worker_;
  DeviceLimits limits_;
  std::string id_options_;
  PipelineEvents events_;
  EvaluationPlan plan_;
  std::deque<Entry> entries_;
  std::map<std::string, CandidateRecord>
      by_launch_;  ///< first record of each machine code and launch plan
  std::map<std::string, double>
      best_us_;  ///< by kernel: one that is slow as a whole is still told apart
  Clock::time_point idle_since_;
};

}  // namespace fatune
