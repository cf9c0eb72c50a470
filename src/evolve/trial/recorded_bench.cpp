// recorded_bench.cpp: Takes the results of drafts from a ledger.
#include <algorithm>
#include <map>
#include <utility>

#include <nlohmann/json.hpp>

#include "evolve/run/ledger.hpp"
#include "evolve/trial/bench.hpp"

namespace fatune {
namespace {

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

std::unique_ptr<Bench> make_recorded_bench(Ledger ledger) {
  return std::make_unique<RecordedBench>(std::move(ledger));
}

}  // namespace fatune
