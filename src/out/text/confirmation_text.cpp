// confirmation_text.cpp - final phases on several GPUs: a row for each problem, and one for each
// GPU.
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/text.hpp"
#include "model/results/statistics.hpp"
#include "out/text/cells.hpp"
#include "out/text/suite_summary.hpp"

namespace fatune {
namespace {

std::string range(double least, double most, int decimals) {
  return fmt::format("{} .. {}", fixed(least, decimals), fixed(most, decimals));
}

/// Of the times over the baselines, on each GPU against its own; empty where one has none.
std::string ratios_text(const FleetWinner& all) {
  std::vector<double> ratios;
  for (const ConfirmedOn& each : all.gpus) {
    if (each.to_baseline) ratios.push_back(each.to_baseline->value);
  }
  if (ratios.size() < all.gpus.size()) return "";
  const auto [least, most] = std::ranges::minmax(ratios);
  return range(least, most, kRatioDecimals);
}

/// GPUs that name another winner when alone.
std::size_t dissenters(const FleetWinner& all) {
  return static_cast<std::size_t>(std::ranges::count_if(
      all.gpus, [&](const ConfirmedOn& each) { return each.winner != all.id; }));
}

std::vector<std::string> row_of(const NamedProblem& problem, const FleetWinner& all) {
  const auto [least, most] = std::ranges::minmax(all.gpus, {}, &ConfirmedOn::median_us);
  return {label(problem),
          std::to_string(all.gpus.size()),
          range(least.median_us, most.median_us, 2),
          percent(all.spread, 2),
          fixed(all.worst, kRatioDecimals),
          ratios_text(all),
          std::to_string(dissenters(all))};
}

/// Of each GPU its times over those of the fastest one, problem by problem.
std::map<std::string, std::vector<double>> paces_of(const PageRun& run) {
  std::map<std::string, std::vector<double>> paces;
  for (const PageProblem& problem : run.problems) {
    if (!problem.result.fleet_winner) continue;
    const std::vector<ConfirmedOn>& gpus = problem.result.fleet_winner->gpus;
    const double least = std::ranges::min(gpus, {}, &ConfirmedOn::median_us).median_us;
    for (const ConfirmedOn& each : gpus)
      paces[each.environment.device_uuid].push_back(each.median_us / least);
  }
  return paces;
}

}  // namespace

std::string confirmation_text(const PageRun& run, const std::string& format, const Paint& paint) {
  Table problems({"problem",
                  {">GPUs", 1},
                  ">us",
                  ">spread",
                  ">worst",
                  {">x baseline", 2},
                  {">other winners", 3}});
  bool any = false;
  for (const PageProblem& problem : run.problems) {
    const auto& winner = problem.result.fleet_winner;
    if (!winner) continue;
    problems.add(row_of(problem.result.problem, *winner));
    any = true;
  }
  if (!any) return "";
  Table gpus({"GPU", ">final phases", ">over the fastest"});
  for (const auto& [uuid, paces] : paces_of(run))
    gpus.add({uuid, std::to_string(paces.size()), fmt::format("{:.4f}", *geomean(paces))});
  if (format == "md") return "\n## Confirmed\n\n" + problems.markdown() + "\n" + gpus.markdown();
  return "\n" +
         paint.fitted(
             "Confirmed: times of the best on each GPU, its worst over the fastest "
             "candidate there") +
         problems.text(paint.columns()) + "\n" + gpus.text(paint.columns());
}

}  // namespace fatune
