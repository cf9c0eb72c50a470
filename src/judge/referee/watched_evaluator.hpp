// watched_evaluator.hpp: Declares an evaluator that polls the client and stops on cancellation.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "tune/evaluate/evaluator.hpp"

namespace fatune {

/// Forwards every call to another evaluator, which must outlive the wrapper. Polls the client a few
/// times a second; after the first error starts no work and returns that error.
class WatchedEvaluator final : public Evaluator {
 public:
  WatchedEvaluator(Evaluator& watched, std::function<Status()> poll_client);
  ~WatchedEvaluator() override;

  const Environment& environment() const override { return watched_.environment(); }
  Status begin_problem(const Problem& problem, const RunPlan& plan) override;
  Status expect(const std::vector<Implementation>& baselines) override;
  std::size_t capacity() const override { return watched_.capacity(); }
  Status submit(const Candidate& candidate) override;
  void prepare(std::vector<Candidate> likely) override { watched_.prepare(std::move(likely)); }
  std::size_t worth_preparing() const override { return watched_.worth_preparing(); }
  Result<CandidateRecord> collect() override;
  void remember(const Candidate& candidate, const CandidateRecord& record) override {
    watched_.remember(candidate, record);
  }
  Result<std::vector<FinalRecord>> finals(const std::vector<Implementation>& contestants,
                                          const FinalPlan& plan) override;
  Result<std::vector<FinalRecord>> examine(const std::vector<Implementation>& contestants,
                                           const FinalPlan& plan) override;

 private:
  Status check_client();

  Evaluator& watched_;
  std::function<Status()> poll_client_;
  Status client_status_;
};

}  // namespace fatune
