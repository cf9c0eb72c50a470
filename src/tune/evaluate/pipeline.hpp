// pipeline.hpp: Moves candidates through compilers and devices, and returns records in order.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/space/rules.hpp"
#include "tune/compile/service.hpp"
#include "tune/evaluate/device_team.hpp"
#include "tune/evaluate/evaluator.hpp"

namespace fatune {

/// Callbacks of an Evaluator, copied at the time of the call.
struct PipelineEvents {
  std::function<Status(const StartedRecord&)> started;
  Note progress;
  std::function<Status(const CandidateRecord&)> early_result = {};
};

/// Compiles likely candidates ahead. A candidate that is never submitted leaves only its machine
/// code in the compilation cache. `compiler` must outlive this object.
class CompileAhead {
 public:
  CompileAhead(CompileService& compiler, DeviceLimits limits);

  /// Replaces the wanted candidates, the likeliest first, and drops earlier ones that have not
  /// begun.
  void want(std::vector<Candidate> likely);
  /// Begins compilations while more than `keep_free` compile processes are idle. The free processes
  /// serve candidates that may be submitted meanwhile.
  Status begin(std::size_t keep_free);
  /// Hands over the running or finished compilation of a candidate that is submitted now. Empty if
  /// the compilation has not begun, and then it never begins.
  std::optional<Ticket> claim(const std::string& key);
  /// Cancels running compilations and forgets all candidates.
  void clear();

  std::size_t begun() const { return begun_; }      ///< since the last clear()
  std::size_t claimed() const { return claimed_; }  ///< of the begun ones

 private:
  CompileService& compiler_;
  DeviceLimits limits_;
  std::vector<Candidate> wanted_;          ///< the likeliest last
  std::map<std::string, Ticket> tickets_;  ///< by the candidate's key
  std::size_t begun_ = 0, claimed_ = 0;
};

/// Compiles ahead. A device takes the oldest compiled candidate, so that a long compilation blocks
/// no other candidate. Records come in the order of submission. Among candidates with equal machine
/// code the first submitted one counts as measured. Compilation times influence only which slow
/// candidates are cut short.
class Pipeline {
 public:
  Pipeline(CompileService& compiler, DeviceTeam& team, DeviceLimits limits, IdOf id_of,
           PipelineEvents events);

  /// Resets the state for a new problem; nothing may be in flight.
  void begin(const RunPlan& plan);
  /// Adds a result of an earlier run, for duplicates of its machine code and for the best time.
  void remember(const Candidate& candidate, const CandidateRecord& record);
  Status submit(const Candidate& candidate);
  /// Names the most likely next candidates, the likeliest first. Idle compile processes take these
  /// candidates. One process stays free for each candidate that may replace one in flight.
  void prepare(std::vector<Candidate> likely) { ahead_.want(std::move(likely)); }
  /// Ends compiling ahead: from now on only submitted candidates are compiled.
  void end_preparations();
  Result<CandidateRecord> collect();
  /// Forgets submitted candidates, none of which runs, because the problem could not begin.
  void abandon();
  std::size_t in_flight() const { return entries_.size(); }

 private:
  using Clock = std::chrono::steady_clock;
  enum class State { kCompiling, kReady, kRunning, kDone };
  struct Ran {
    RunReply reply;
    std::optional<MeasuredOn> on;
  };
  struct Entry {
    std::uint64_t number = 0;  ///< in the order of submission
    CandidateRecord record;
    LaunchPlan plan;
    std::string launch;  ///< key of machine code and launch, once compiled
    Ticket ticket = 0;
    Compiled compiled;
    bool usual = false;  ///< the kernel's default config, which is never cut short
    State state = State::kCompiling;
    std::size_t device = 0;  ///< index of the device that runs the candidate
    Clock::time_point submitted, ready;
  };

  Result<std::string> reason_against(const Candidate& candidate);
  void absorb_compiled();
  Status dispatch();
  Status compile_ahead();
  Status step();
  Result<bool> start(Entry& entry, std::size_t device);
  Status absorb_runs();
  Status absorb_run(DeviceTeam::Answer answer);
  void wait_for_events();
  CandidateRecord with_result(const Entry& entry) const;
  void conclude(Entry& entry);
  RunOrder order_for(const Entry& entry) const;
  void note_best(const std::string& kernel, const Observation& seen);
  bool searches_cold() const { return plan_.objective == Objective::kCold; }

  CompileService& compiler_;
  DeviceTeam& team_;
  DeviceLimits limits_;
  IdOf id_of_;
  PipelineEvents events_;
  RunPlan plan_;
  CompileAhead ahead_;
  std::map<std::string, Feasibility> rules_;  ///< by the kernel's name, on this problem
  std::deque<Entry> entries_;
  std::uint64_t submitted_ = 0;
  std::uint64_t furthest_ = 0;          ///< highest number that has reached a device
  std::map<std::string, Ran> results_;  ///< by machine code and launch plan
  /// First collected record, by machine code and launch plan.
  std::map<std::string, CandidateRecord> originals_;
  /// By kernel, so that configs of a slow kernel are ranked among themselves.
  std::map<std::string, double> best_us_;
};

}  // namespace fatune
