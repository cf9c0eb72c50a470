// fake_evaluator.hpp: Simulates a device by formulas for times and failures, without GPU and clock.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tune/evaluate/evaluator.hpp"

namespace fatune::test {

/// Behaviour of the device; every function but `cost_on` depends on the config only.
struct FakeDevice {
  std::function<double(const Config&)> cost_us;
  std::function<double(const Config&, const Problem&)> cost_on;  ///< replaces cost_us if set
  std::function<std::optional<Outcome>(const Config&)> fails;    ///< empty: nothing fails
  /// Whether candidates of a problem fail in its final phase; empty: none does.
  std::function<bool(const Problem&)> wrong_at_last;
  std::function<std::string(const Config&)> code;  ///< machine code; empty: unique per config
  std::size_t capacity = 1;
  std::size_t worth_preparing = 0;
  std::optional<std::size_t> dies_after;  ///< number of results before the device is lost
  bool early = false;          ///< whether each collect also brings the next result early
  double seconds_each = 0.25;  ///< device time per candidate
  double seconds_finals = 0;   ///< device time per final phase
  double final_noise = 0.01;   ///< relative spread of final rounds
  /// Returns the time of an external implementation by name; nullopt: unavailable.
  std::function<std::optional<double>(const std::string&)> outside_us;
  std::function<void(std::size_t)> on_result;  ///< called with the number of earlier results
  /// Called with the number of earlier final phases; an error becomes the phase's.
  std::function<Status(std::size_t)> on_finals;
};

/// Returns the number in a setting, or the position of a word.
double number(const Config& config, std::string_view name);

class FakeEvaluator final : public Evaluator {
 public:
  explicit FakeEvaluator(FakeDevice device);

  const Environment& environment() const override { return environment_; }
  Status begin_problem(const Problem& problem, const RunPlan& plan) override;
  std::size_t capacity() const override { return device_.capacity; }
  Status submit(const Candidate& candidate) override;
  void prepare(std::vector<Candidate> likely) override;
  std::size_t worth_preparing() const override { return device_.worth_preparing; }
  Result<CandidateRecord> collect() override;
  void remember(const Candidate&, const CandidateRecord& record) override;
  Result<std::vector<FinalRecord>> finals(const std::vector<Implementation>& contestants,
                                          const FinalPlan& plan) override;
  Result<std::vector<FinalRecord>> examine(const std::vector<Implementation>& contestants,
                                           const FinalPlan& plan) override;

  double seconds() const { return seconds_; }                               ///< clock of the device
  const std::vector<std::string>& evaluated() const { return evaluated_; }  ///< keys in order
  /// Keys of the candidates of each prepare() call.
  const std::vector<std::vector<std::string>>& prepared() const { return prepared_; }
  /// Returns the key of the candidate submitted `place` after the oldest.
  std::string key_in_flight(std::size_t place) const { return candidate_key(submitted_.at(place)); }
  std::size_t in_flight() const { return submitted_.size(); }
  std::size_t finals_run() const { return finals_run_; }
  std::size_t problems_begun() const { return problems_begun_; }
  Environment& editable_environment() { return environment_; }

 private:
  double cost_of(const Candidate& candidate) const;
  CandidateRecord evaluate(const Candidate& candidate);
  Result<CandidateRecord> run_oldest();
  void measure(const Candidate& candidate, CandidateRecord& record) const;
  FinalRecord compete(const Implementation& contestant, const FinalPlan& plan) const;
  FinalRecord compete_from_elsewhere(const Implementation& contestant, const FinalPlan& plan) const;

  FakeDevice device_;
  Environment environment_;
  Problem problem_;
  std::deque<Candidate> submitted_;
  std::map<std::string, std::string> first_with_code_;  ///< code to id
  std::optional<CandidateRecord> next_;                 ///< an early result
  std::vector<std::string> evaluated_;
  std::vector<std::vector<std::string>> prepared_;
  std::size_t finals_run_ = 0, problems_begun_ = 0;
  double seconds_ = 0;
};

}  // namespace fatune::test
