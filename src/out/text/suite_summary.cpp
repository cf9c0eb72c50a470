// suite_summary.cpp - the final phases of a run of several problems: a row each, and fast_p.
#include <set>

#include <fmt/format.h>

#include "core/text.hpp"
#include "model/results/fast_p.hpp"
#include "model/results/sol_score.hpp"
#include "out/text/cells.hpp"
#include "out/text/report_text.hpp"

namespace fatune {
namespace {

std::string time_of(const PageProblem& problem, const JournalHeader& header) {
  return final_time(problem.result.finals, header.plan.objective);
}

/// By which the problems were ranked; empty where not all by the same.
std::string common_time(const PageRun& run) {
  std::set<std::string> times;
  for (const PageProblem& problem : run.problems) {
    if (!problem.result.finals.empty()) times.insert(time_of(problem, run.header));
  }
  return times.size() == 1 ? *times.begin() : "";
}

std::vector<std::string> summary_row(const PageProblem& problem, const JournalHeader& header,
                                     bool names_time) {
  const ProblemResult& result = problem.result;
  const std::string time = time_of(problem, header);
  const FinalRecord* best = result.best();
  const auto sol = sol_score(result, header.plan.objective, header.environment);
  std::string best_us;
  if (best != nullptr) {
    if (const auto timing = timing_of(*best, time)) best_us = fixed(timing->median_us, 2);
  }
  if (names_time && !best_us.empty()) best_us += " " + time_words(time);
  return {label(result.problem),
          best == nullptr ? "no correct kernel" : best->kernel,
          best_us,
          result.gate ? result.gate->baseline : "",
          result.gate ? fixed(result.gate->ratio.value, kRatioDecimals) : "",
          sol ? fixed(sol->value, kRatioDecimals) : ""};
}

std::string fast_line(const FastP& fast) {
  std::vector<std::string> shares;
  for (const FastShare& each : fast.shares)
    shares.push_back(fmt::format("fast_{} {}", each.p, fixed(each.share, kRatioDecimals)));
  return fmt::format("{} (right, and more than p times as fast as the baseline; of {})",
                     join(shares, ", "), counted(fast.problems, "problem"));
}

}  // namespace

std::optional<FastP> fast_p_of(const PageRun& run) {
  if (run.header.plan.skip_correctness) return std::nullopt;
  std::vector<double> speedups;
  for (const PageProblem& problem : run.problems) {
    if (const auto speedup = speedup_of(problem.result)) speedups.push_back(*speedup);
  }
  return speedups.size() > 1 ? fast_p(speedups) : std::nullopt;
}

std::string suite_summary(const PageRun& run, const std::string& format, const Paint& paint) {
  const std::string time = common_time(run);
  const std::string us = time.empty() ? ">us" : fmt::format(">{} us", time_words(time));
  Table table({"problem", "best", us, "baseline", ">ratio", {">SOL score", kLastSpare}});
  for (const PageProblem& problem : run.problems) {
    if (!problem.result.finals.empty()) table.add(summary_row(problem, run.header, time.empty()));
  }
  if (table.empty()) return "";
  const auto fast = fast_p_of(run);
  const std::string shares = fast ? fast_line(*fast) : "";
  if (format == "md")
    return "\n## Final phases\n\n" + table.markdown() + (fast ? "\n" + shares + "\n" : "");
  return "\nFinal phases\n" + table.text(paint.columns()) +
         (fast ? "\n" + paint.fitted(shares) : "");
}

}  // namespace fatune
