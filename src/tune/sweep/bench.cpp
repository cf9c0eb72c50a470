// bench.cpp - runs a final phase for every problem.
#include "tune/sweep/bench.hpp"

namespace fatune {

Status run_bench(const std::vector<BenchQuestion>& questions, const FinalPlan& plan,
                 Evaluator& evaluator, BenchResult& result,
                 const std::function<Status()>& after_each) {
  result.environment = evaluator.environment();
  result.rounds = plan.rounds;
  result.seed = plan.seed;
  for (const BenchQuestion& question : questions) {
    BenchProblem measured;
    measured.problem = question.problem;
    const Status begun = evaluator.begin_problem(question.problem.problem, {});
    if (begun) {
      FATUNE_TRY(measured.rows, evaluator.finals(question.contestants, plan));
    } else if (questions.size() > 1 && begun.error().kind == ErrorKind::kUsage) {
      measured.reason = begun.error().message;
    } else {
      return begun;
    }
    result.problems.push_back(std::move(measured));
    FATUNE_TRY_STATUS(after_each());
  }
  return {};
}

}  // namespace fatune
