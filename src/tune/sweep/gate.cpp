// gate.cpp - compares by interval and counts as a pass only what is surely below the threshold.
#include "tune/sweep/gate.hpp"

#include <algorithm>
#include <cmath>

#include "model/results/statistics.hpp"
#include "tune/sweep/standing.hpp"

namespace fatune {
namespace {

/// NaN in a list of times is no outcome but a broken input.
Status check_times(const FinalRecord& record, const std::string& objective) {
  const auto& rounds = rounds_of(record, objective);
  if (record.outcome != Outcome::kMeasured || rounds.size() < kLeastSamples) return {};
  return check_samples(rounds, record.impl + " (" + objective + ")");
}

GateRow decide_row(const FinalRecord& candidate, const Rival& rival, const GateRules& rules) {
  GateRow row;
  row.baseline = rival.record;
  row.source = rival.source;
  const Pairing pairing = rival.source.empty()
                              ? pairing_in_phase(candidate, rival.record, rules.objective)
                              : Pairing::kNone;
  const auto ratio = ratio_of(candidate, rival.record, rules.objective, pairing, rules.seed);
  if (!ratio) {
    row.reason = ratio.error().message;
    return row;
  }
  row.paired = pairing == Pairing::kRounds;
  row.ratio = *ratio;
  row.comparison = name(compare_interval({ratio->low, ratio->high}, kSameSpeed));
  row.verdict = verdict_word(ratio->value);
  row.passed = ratio->high < rules.threshold;
  return row;
}

Result<GateProblem> measure_and_decide(const GateQuestion& question, const GateRules& rules,
                                       const FinalPlan& plan, Evaluator& evaluator) {
  std::vector<Implementation> contestants = {question.candidate};
  contestants.insert(contestants.end(), question.baselines.begin(), question.baselines.end());
  FATUNE_TRY(auto records, evaluator.finals(contestants, plan));
  if (records.size() != contestants.size())
    return device_error("the final phase's records do not match its contestants");
  std::vector<Rival> rivals;
  for (std::size_t i = 1; i < records.size(); ++i) rivals.push_back({std::move(records[i]), ""});
  rivals.insert(rivals.end(), question.saved.begin(), question.saved.end());
  return decide_gate(question.problem, records.front(), rivals, rules);
}

/// Geometric means over problems, of each baseline that has a ratio.
std::vector<GateMean> mean_ratios(const std::vector<GateProblem>& problems) {
  std::vector<GateMean> means;
  for (const GateProblem& problem : problems) {
    for (const GateRow& row : problem.rows) {
      if (!row.ratio) continue;
      auto mean = std::find_if(means.begin(), means.end(), [&](const GateMean& each) {
        return each.baseline == row.baseline.impl;
      });
      if (mean == means.end()) mean = means.insert(means.end(), {row.baseline.impl, 0, 0});
      mean->ratio += std::log(row.ratio->value);
      ++mean->problems;
    }
  }
  for (GateMean& mean : means)
    mean.ratio = std::exp(mean.ratio / static_cast<double>(mean.problems));
  return means;
}

}  // namespace

Result<GateProblem> decide_gate(const NamedProblem& problem, const FinalRecord& candidate,
                                const std::vector<Rival>& rivals, const GateRules& rules) {
  GateProblem decision;
  decision.problem = problem;
  decision.candidate = candidate;
  FATUNE_TRY_STATUS(check_times(candidate, rules.objective));
  for (const Rival& rival : rivals) {
    if (auto times = check_times(rival.record, rules.objective); !times) {
      if (rival.source.empty()) return std::move(times).error();
      return file_error(rival.source + ": " + times.error().message);
    }
    decision.rows.push_back(decide_row(candidate, rival, rules));
  }
  decision.passed =
      !decision.rows.empty() && std::all_of(decision.rows.begin(), decision.rows.end(),
                                            [](const GateRow& row) { return row.passed; });
  return decision;
}

Result<GateResult> run_gate(const std::vector<GateQuestion>& questions, const GateRules& rules,
                            const FinalPlan& plan, Evaluator& evaluator) {
  GateResult result;
  result.environment = evaluator.environment();
  result.objective = rules.objective;
  result.threshold = rules.threshold;
  result.rounds = plan.rounds;
  result.seed = rules.seed;
  result.passed = !questions.empty();
  RunPlan evaluation;
  evaluation.objective = rules.objective;
  for (const GateQuestion& question : questions) {
    const Status begun = evaluator.begin_problem(question.problem.problem, evaluation);
    if (begun) {
      FATUNE_TRY(GateProblem decision, measure_and_decide(question, rules, plan, evaluator));
      result.problems.push_back(std::move(decision));
    } else if (questions.size() > 1 && begun.error().kind == ErrorKind::kUsage) {
      GateProblem failed;
      failed.problem = question.problem;
      failed.reason = begun.error().message;
      result.problems.push_back(std::move(failed));
    } else {
      return begun.error();
    }
    result.passed = result.passed && result.problems.back().passed;
  }
  result.means = mean_ratios(result.problems);
  return result;
}

bool has_answer(const GateResult& result) {
  return std::any_of(result.problems.begin(), result.problems.end(), [](const GateProblem& each) {
    const Outcome outcome = each.candidate.outcome;
    if (outcome != Outcome::kMeasured && outcome != Outcome::kUnavailable) return true;
    return std::any_of(each.rows.begin(), each.rows.end(),
                       [](const GateRow& row) { return row.ratio.has_value(); });
  });
}

}  // namespace fatune
