// bench.cpp: Tries drafts without a GPU: with the compiler alone, or from a ledger.
#include "evolve/trial/bench.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include <nlohmann/json.hpp>

#include "core/interrupt.hpp"
#include "evolve/run/ledger.hpp"

namespace fatune {
namespace {

class CompileBench final : public Bench {
 public:
  CompileBench(OpenCompilers open, const DeviceLimits& limits)
      : examiner_(make_compile_examiner(std::move(open), limits)) {
    environment_.limits = limits;
  }

  const Environment& environment() const override { return environment_; }
  bool has_times() const override { return false; }

  Result<ShapeTrial> examine(const Draft& draft, const NamedProblem& problem,
                             const BenchOrder&) override {
    const auto beat = [](std::string_view) -> Status {
      if (interrupted()) return Error{ErrorKind::kInterrupted, "interrupted amid a trial"};
      return {};
    };
    const Config config = draft.settings ? *draft.settings : default_config(draft.kernel->manifest);
    const Candidate candidate{draft.kernel, config, problem.problem};
    FATUNE_TRY(const Examined examined,
               examiner_->examine({implementation_of(candidate)},
                                  examination_plan(Scrutiny::kCheck), beat));
    const FinalRecord& record = examined.records.front();
    ShapeTrial trial;
    trial.problem = label(problem);
    trial.outcome = record.outcome;
    trial.reason = record.reason;
    trial.gate = gate_of(record.outcome, record.reason);
    trial.config = record.config;
    trial.evaluations = 1;
    trial.resources = record.resources;
    return trial;
  }

  Result<Duel> duel(const KernelWithConfig&, const KernelWithConfig&, const NamedProblem& problem,
                    int) override {
    Duel duel;
    duel.problem = label(problem);
    duel.reason = "nothing is timed without a GPU";
    return duel;
  }

 private:
  std::unique_ptr<Examiner> examiner_;
  Environment environment_;
};

constexpr const char* kNotRecorded = "not in the recording";

class RecordedBench final : public Bench {
 public:
  explicit RecordedBench(Ledger ledger) : ledger_(std::move(ledger)) {
    ledger_.header.environment.recorded = true;
    for (const Trial& trial : ledger_.trials) {
      for (const ShapeTrial& shape : trial.shapes) {
        rows_.try_emplace({trial.key, shape.problem}, shape);
        timed_ = timed_ || shape.time_us.has_value();
      }
    }
  }

  const Environment& environment() const override { return ledger_.header.environment; }
  bool has_times() const override { return timed_; }

  Result<ShapeTrial> examine(const Draft& draft, const NamedProblem& problem,
                             const BenchOrder&) override {
    const auto found = rows_.find({draft.key, label(problem)});
    if (found != rows_.end()) return found->second;
    ShapeTrial row;
    row.problem = label(problem);
    row.outcome = Outcome::kPruned;
    row.reason = kNotRecorded;
    return row;
  }

  Result<std::string> profile(const KernelWithConfig& kernel, const NamedProblem&) override {
    const auto found = std::ranges::find(ledger_.trials, kernel.key, &Trial::key);
    return found == ledger_.trials.end() ? "" : found->profile;
  }

  Result<Duel> duel(const KernelWithConfig&, const KernelWithConfig& best,
                    const NamedProblem& problem, int) override {
    for (const DuelRecord& each : ledger_.duels) {
      if (each.duel.problem == label(problem) && key_of(each.id) == best.key) return each.duel;
    }
    Duel duel;
    duel.problem = label(problem);
    duel.reason = kNotRecorded;
    return duel;
  }

 private:
  std::string key_of(const std::string& id) const {
    const auto found = std::ranges::find(ledger_.trials, id, &Trial::id);
    return found == ledger_.trials.end() ? "" : found->key;
  }

  Ledger ledger_;
  std::map<std::pair<std::string, std::string>, ShapeTrial> rows_;  ///< results by key and problem
  bool timed_ = false;
};

}  // namespace

std::unique_ptr<Bench> make_compile_bench(OpenCompilers open, const DeviceLimits& limits) {
  return std::make_unique<CompileBench>(std::move(open), limits);
}

std::unique_ptr<Bench> make_recorded_bench(Ledger ledger) {
  return std::make_unique<RecordedBench>(std::move(ledger));
}

}  // namespace fatune
