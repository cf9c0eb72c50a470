// suite_summary.cpp: Writes a row per problem and the results over all problems.
#include "report/text/suite_summary.hpp"

#include <algorithm>
#include <iterator>
#include <set>

#include <fmt/format.h>

#include "core/text.hpp"
#include "model/results/sol_score.hpp"
#include "model/results/statistics.hpp"
#include "report/text/cells.hpp"

namespace fatune {
namespace {

Time time_of(const ProblemResult& result, const RunPlan& plan) {
  return final_time(result.finals, plan.objective);
}

/// Returns the ranking time of the problems; empty if they differ.
std::optional<Time> common_time(const SuiteFinals& finals) {
  std::set<Time> times;
  for (const ProblemResult* each : finals.problems) times.insert(time_of(*each, finals.plan));
  return times.size() == 1 ? std::optional(*times.begin()) : std::nullopt;
}

std::vector<std::string> summary_row(const std::string& problem, const ProblemResult& result,
                                     const SuiteFinals& finals, bool names_time) {
  const Time time = time_of(result, finals.plan);
  const FinalRecord* best = result.best();
  const auto sol = sol_score(result, finals.plan.objective, finals.environment);
  std::string best_us;
  if (best != nullptr) {
    if (const auto timing = timing_of(*best, time)) best_us = fixed(timing->median_us, 2);
  }
  if (names_time && !best_us.empty()) best_us += " " + describe(time);
  return {problem,
          best == nullptr ? "no correct kernel" : best->kernel,
          best_us,
          result.gate ? result.gate->baseline : "",
          result.gate ? fixed(result.gate->ratio.value, kRatioDecimals) : "",
          sol ? fixed(sol->value, kRatioDecimals) : ""};
}

std::string mean_line(const SuiteFinals& finals) {
  std::vector<double> ratios;
  for (const ProblemResult* each : finals.problems) {
    if (each->gate) ratios.push_back(each->gate->ratio.value);
  }
  const auto mean = geomean(ratios);
  if (!mean || ratios.size() < 2) return "";
  return fmt::format("Geometric mean of {} ratios: {}", ratios.size(),
                     fixed(*mean, kRatioDecimals));
}

struct Absence {
  std::string impl;
  std::size_t problems = 0;
  std::string why;  ///< reason at the first problem
};

/// Returns the baselines that lack a time at some problem and so are missing from its ratio.
std::vector<Absence> absences(const SuiteFinals& finals) {
  std::vector<Absence> absent;
  for (const ProblemResult* each : finals.problems) {
    for (const FinalRecord& record : each->finals) {
      if (!record.is_baseline() || record.outcome == Outcome::kMeasured) continue;
      auto found = std::ranges::find(absent, record.impl, &Absence::impl);
      if (found == absent.end()) {
        const std::string reason = first_line(record.reason);
        const std::string outcome(name(record.outcome));
        absent.push_back({record.impl, 0, reason.empty() ? outcome : outcome + ", " + reason});
        found = std::prev(absent.end());
      }
      ++found->problems;
    }
  }
  return absent;
}

std::string absence_line(const Absence& absent, std::size_t problems) {
  return fmt::format("Without {} at {} of {}: {}", absent.impl, absent.problems,
                     counted(problems, "problem"), absent.why);
}

std::string fast_line(const FastP& fast) {
  std::vector<std::string> shares;
  for (const FastShare& each : fast.shares)
    shares.push_back(fmt::format("fast_{} {}", each.p, fixed(each.share, kRatioDecimals)));
  return fmt::format("{} (right, and more than p times as fast as the baseline; of {})",
                     join(shares, ", "), counted(fast.problems, "problem"));
}

/// Returns the lines under the table.
std::vector<std::string> lines_of(const SuiteFinals& finals) {
  std::vector<std::string> lines;
  if (std::string mean = mean_line(finals); !mean.empty()) lines.push_back(std::move(mean));
  const std::size_t all = shard_problems(finals.plan).size(), done = finals.problems.size();
  if (done < all)
    lines.push_back(
        fmt::format("{} of {} had no final phase", all - done, counted(all, "problem")));
  for (const Absence& each : absences(finals))
    lines.push_back(absence_line(each, finals.problems.size()));
  if (const auto fast = fast_p_of(finals)) lines.push_back(fast_line(*fast));
  return lines;
}

}  // namespace

SuiteFinals::SuiteFinals(const SweepResult& result)
    : plan(result.plan), environment(result.environment) {
  for (const ProblemResult& each : result.problems) {
    if (!each.finals.empty()) problems.push_back(&each);
  }
}

SuiteFinals::SuiteFinals(const PageRun& run)
    : plan(run.header.plan), environment(run.header.environment) {
  for (const PageProblem& each : run.problems) {
    if (!each.result.finals.empty()) problems.push_back(&each.result);
  }
}

std::optional<FastP> fast_p_of(const SuiteFinals& finals) {
  if (finals.plan.skip_correctness) return std::nullopt;
  std::vector<double> speedups;
  for (const ProblemResult* each : finals.problems) {
    if (const auto speedup = speedup_of(*each)) speedups.push_back(*speedup);
  }
  return speedups.size() > 1 ? fast_p(speedups) : std::nullopt;
}

std::string suite_summary(const SuiteFinals& finals, const std::string& format,
                          const Paint& paint) {
  if (finals.problems.empty()) return "";
  const std::optional<Time> time = common_time(finals);
  const std::string us = time ? fmt::format(">{} us", describe(*time)) : ">us";
  Table table({"problem", "best", us, "baseline", ">ratio", {">SOL score", kLastSpare}});
  const bool brief = format == "text";  // a terminal is narrow
  for (const ProblemResult* each : finals.problems) {
    const bool named = !each->problem.name.empty();
    table.add(summary_row(brief && named ? each->problem.name : label(each->problem), *each, finals,
                          !time));
  }
  std::vector<std::string> lines = lines_of(finals);
  if (format == "md") {
    for (std::string& line : lines) line = markdown_text(line);
    return "\n## Final phases\n\n" + table.markdown() +
           (lines.empty() ? "" : "\n" + join(lines, "\n\n") + "\n");
  }
  std::string text = "\nFinal phases\n" + table.text(paint.columns());
  for (const std::string& line : lines) text += paint.fitted(line);
  return text;
}

}  // namespace fatune
