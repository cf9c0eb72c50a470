// examiner.cpp: Examines candidates with an evaluator that polls the client, or with a compiler.
#include "judge/referee/examiner.hpp"

#include <optional>
#include <utility>

#include <fmt/format.h>

#include "core/text.hpp"
#include "core/units.hpp"
#include "model/space/rules.hpp"
#include "tune/evaluate/forecast.hpp"
#include "worker/protocol/compilation.hpp"
#include "worker/protocol/machine_code.hpp"

namespace fatune {
namespace {

constexpr std::chrono::milliseconds kBeatPause{100};  // pause between two heartbeats
constexpr std::size_t kFinalists = 3;                 // finalists of a search; chosen

std::string words_of(const SweepProgress& progress) {
  if (progress.phase == "final") return "final phase";
  std::string text = fmt::format("searching: {} of {} candidates", progress.done, progress.all);
  if (progress.best_us) text += ", best " + describe(Micros(*progress.best_us));
  return text;
}

/// Forwards every call to another evaluator, which must outlive the wrapper. Polls the client a few
/// times a second; after the first error starts no work and returns that error.
class WatchedEvaluator final : public Evaluator {
 public:
  WatchedEvaluator(Evaluator& watched, std::function<Status()> poll_client)
      : watched_(watched), poll_client_(std::move(poll_client)) {
    watched_.on_start = [this](const StartedRecord& record) {
      return on_start ? on_start(record) : Status();
    };
    watched_.on_early_result = [this](const CandidateRecord& record) {
      return on_early_result ? on_early_result(record) : Status();
    };
    watched_.on_progress = [this](std::string_view phase) {
      static_cast<void>(check_client().operator bool());
      if (on_progress) on_progress(phase);
    };
  }
  ~WatchedEvaluator() override {
    watched_.on_start = nullptr;
    watched_.on_early_result = nullptr;
    watched_.on_progress = nullptr;
  }

  const Environment& environment() const override { return watched_.environment(); }
  Status begin_problem(const Problem& problem, const RunPlan& plan) override {
    FATUNE_TRY_STATUS(check_client());
    return watched_.begin_problem(problem, plan);
  }
  Status expect(const std::vector<Implementation>& baselines) override {
    return watched_.expect(baselines);
  }
  std::size_t capacity() const override { return watched_.capacity(); }
  Status submit(const Candidate& candidate) override {
    FATUNE_TRY_STATUS(check_client());
    return watched_.submit(candidate);
  }
  void prepare(std::vector<Candidate> likely) override { watched_.prepare(std::move(likely)); }
  std::size_t worth_preparing() const override { return watched_.worth_preparing(); }
  Result<CandidateRecord> collect() override {
    FATUNE_TRY_STATUS(check_client());
    return watched_.collect();
  }
  void remember(const Candidate& candidate, const CandidateRecord& record) override {
    watched_.remember(candidate, record);
  }
  Result<std::vector<FinalRecord>> finals(const std::vector<Implementation>& contestants,
                                          const FinalPlan& plan) override {
    FATUNE_TRY_STATUS(check_client());
    return unless_cancelled(watched_.finals(contestants, plan));
  }
  Result<std::vector<FinalRecord>> examine(const std::vector<Implementation>& contestants,
                                           const FinalPlan& plan) override {
    FATUNE_TRY_STATUS(check_client());
    return unless_cancelled(watched_.examine(contestants, plan));
  }

 private:
  /// Keeps the first error.
  Status check_client() {
    if (client_status_) client_status_ = poll_client_();
    return client_status_;
  }
  Result<std::vector<FinalRecord>> unless_cancelled(Result<std::vector<FinalRecord>> records) {
    if (!client_status_) return client_status_.error();
    return records;
  }

  Evaluator& watched_;
  std::function<Status()> poll_client_;
  Status client_status_;
};

class DeviceExaminer final : public Examiner {
 public:
  DeviceExaminer(OpenEvaluator open, KernelRef reference)
      : open_(std::move(open)), reference_(std::move(reference)) {}

  Result<Examined> examine(const std::vector<Implementation>& contestants, const FinalPlan& plan,
                           const Heartbeat& beat) override {
    FATUNE_TRY_STATUS(open());
    auto examined = examine_watched(contestants, plan, beat);
    if (!examined) return failed(std::move(examined).error());
    return examined;
  }

  Result<SweepResult> search(const SearchOrder& order, const Heartbeat& beat) override {
    FATUNE_TRY_STATUS(open());
    const KernelRef& first = order.kernels.front();
    if (first->author == Author::kStranger)
      FATUNE_TRY_STATUS(check_recording(first, order.problem.problem, beat));
    SweepOptions options;
    options.plan = order.plan;
    options.plan.problems = {order.problem};
    for (const KernelRef& kernel : order.kernels)
      options.plan.kernels.push_back(kernel->manifest.name);
    options.known = order.known;
    if (!environment_->recorded) options.plan.seed = unknown_seed();
    options.finals.seed = options.plan.seed;
    options.finals.secret_inputs = true;
    options.finalists = kFinalists;
    options.baselines = order.baselines;
    options.reference_is_baseline = false;
    options.out = order.out;
    options.on_progress = [this](const SweepProgress& now) { phase_ = words_of(now); };
    auto result = search_watched(options, order.kernels, beat);
    if (!result) return failed(std::move(result).error());
    return result;
  }

  Result<const Environment*> environment() override {
    if (!environment_) FATUNE_TRY_STATUS(open());
    return &*environment_;
  }

  void rest() override { evaluator_.reset(); }

 private:
  Status open() {
    phase_ = "compiling";
    if (evaluator_) return {};
    FATUNE_TRY(evaluator_, open_());
    environment_ = evaluator_->environment();
    return {};
  }

  Result<Examined> examine_watched(const std::vector<Implementation>& contestants,
                                   const FinalPlan& plan, const Heartbeat& beat) {
    Examined examined;
    WatchedEvaluator watched(*evaluator_, [&] { return beat(phase_); });
    watched.on_progress = [this](std::string_view phase) { phase_ = phase; };
    evaluator_->on_errors = [&](const std::string&, const std::vector<ErrorRegion>& regions) {
      if (examined.regions.empty()) examined.regions = regions;
    };
    auto records = watched.examine(contestants, plan);
    evaluator_->on_errors = nullptr;
    FATUNE_TRY(examined.records, std::move(records));
    if (examined.records.front().outcome != Outcome::kWrongResult) examined.regions.clear();
    return examined;
  }

  Result<SweepResult> search_watched(const SweepOptions& options,
                                     const std::vector<KernelRef>& kernels, const Heartbeat& beat) {
    WatchedEvaluator watched(*evaluator_, [&] { return beat(phase_); });
    FATUNE_TRY(SweepResult result, run_sweep(options, kernels, reference_, watched));
    if (result.interrupted) return Error{ErrorKind::kInterrupted, "the search was interrupted"};
    return result;
  }

  /// Drops the evaluator, because its device may be lost or still busy. The next examination opens
  /// a fresh device without the old watcher.
  Error failed(Error error) {
    if (!is_of_problem(error)) evaluator_.reset();
    return error;
  }

  /// Checks that a recording has the kernel: a recording knows configs by name, not by kernel text.
  Status check_recording(const KernelRef& kernel, const Problem& problem, const Heartbeat& beat) {
    if (!environment_->recorded) return {};
    const Candidate usual{kernel, default_config(kernel->manifest), problem};
    FATUNE_TRY(const Examined examined,
               examine({implementation_of(usual)}, examination_plan(Scrutiny::kCheck), beat));
    const FinalRecord& record = examined.records.front();
    if (record.outcome != Outcome::kUnavailable) return {};
    return environment_error(record.reason);
  }

  OpenEvaluator open_;
  KernelRef reference_;
  std::unique_ptr<Evaluator> evaluator_;
  std::optional<Environment> environment_;  ///< environment of the most recently opened device
  std::string phase_;                       ///< phase of the next heartbeat
};

class CompileExaminer final : public Examiner {
 public:
  CompileExaminer(OpenCompilers open, const DeviceLimits& limits)
      : open_(std::move(open)), limits_(limits) {}

  Result<Examined> examine(const std::vector<Implementation>& contestants, const FinalPlan&,
                           const Heartbeat& beat) override {
    if (!compilers_.service) {
      FATUNE_TRY(compilers_, open_());
    }
    FATUNE_TRY(FinalRecord record, examine_one(contestants.front(), beat));
    return Examined{{std::move(record)}, {}};
  }

  Result<SweepResult> search(const SearchOrder&, const Heartbeat&) override {
    return environment_error("a search needs times, and there is no GPU here: --device cuda:N");
  }

  Result<const Environment*> environment() override { return nullptr; }

 private:
  Result<FinalRecord> examine_one(const Implementation& submitted, const Heartbeat& beat) {
    const Candidate& candidate = submitted.candidate;
    FinalRecord record;
    record.impl = submitted.impl;
    record.role = submitted.role;
    record.kernel = candidate.kernel->manifest.name;
    record.config = to_json(candidate.config);
    record.problem = candidate.problem;
    const std::string options = id_options(limits_.arch, compilers_.identity(*candidate.kernel));
    record.id = candidate_id(candidate, options);
    FATUNE_TRY(record.reason, impossible_reason(candidate, limits_));
    if (!record.reason.empty()) {
      record.outcome = Outcome::kInfeasible;
      return record;
    }
    FATUNE_TRY(const LaunchPlan plan, launch_plan(candidate, limits_));
    FATUNE_TRY(Compiled done, compile(candidate, beat));
    const Compiled compiled = checked(std::move(done), plan);
    if (!compiled.ok) {
      record.outcome = Outcome::kCompileError;
      record.reason = compiled.problem;
      return record;
    }
    record.resources = with_compiler_log(std::nullopt, compiled, plan);
    record.outcome = Outcome::kUnavailable;
    record.reason =
        fmt::format("not judged: compiled for {}, and there is no GPU here", name(limits_.arch));
    return record;
  }

  Result<Compiled> compile(const Candidate& candidate, const Heartbeat& beat) {
    CompileService& service = *compilers_.service;
    const Ticket ticket = service.submit(compile_request(candidate, limits_));
    while (!service.ready(ticket)) {
      FATUNE_TRY_STATUS(service.pump(kBeatPause));
      if (const Status client = beat("compiling"); !client) {
        service.cancel(ticket);
        return client.error();
      }
    }
    return service.take(ticket);
  }

  OpenCompilers open_;
  DeviceLimits limits_;
  Compilers compilers_;
};

}  // namespace

std::unique_ptr<Examiner> make_device_examiner(OpenEvaluator open, KernelRef reference) {
  return std::make_unique<DeviceExaminer>(std::move(open), std::move(reference));
}

std::unique_ptr<Examiner> make_compile_examiner(OpenCompilers open, const DeviceLimits& limits) {
  return std::make_unique<CompileExaminer>(std::move(open), limits);
}

}  // namespace fatune
