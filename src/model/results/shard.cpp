// shard.cpp: Deals problems to shards: the costliest first, each to the shard with the least work.
#include "model/results/shard.hpp"

#include <algorithm>
#include <numeric>
#include <set>

#include <fmt/format.h>

#include "core/fields.hpp"
#include "core/text.hpp"

namespace fatune {
namespace {

// Fitted to the searches and final phases of results/h100x4 (models-one, suite-halves) and a run of
// suite-models on one H200. A small problem takes 8 s, or 30 s with baselines in a layer; 4,000
// GFLOP or 0.2 GB of tensors add as much again.
constexpr double kFlopsPerUnit = 4e12;
constexpr double kBytesPerUnit = 0.2e9;

}  // namespace

void fields(Shard& x, FieldList& f) {
  f.record("shard", "The part of the plan's problems that this run has");
  f("number", x.number).required().at_least(1);
  f("of", x.of).required().at_least(1);
  f("problems", x.problems).required().filled().about("Places in the plan's list, from 0");
  f("plan", x.plan).required().about("SHA-256 of what all parts have in common");
  f.rule("number", [&x] {
    return x.number > x.of ? fmt::format("is {} of {}", x.number, x.of) : std::string();
  });
}

void fields(MergedShard& x, FieldList& f) {
  f.record("merged_shard", "Where a shard of a merged run was measured");
  f("number", x.number).required().at_least(1);
  f("device_uuid", x.device_uuid).omitted();
  f("host", x.host).omitted();
}

std::string describe(const Shard& shard) { return fmt::format("{}/{}", shard.number, shard.of); }

double estimated_cost(const Problem& problem) {
  const double work = counts_flops(problem) ? flops(problem).value : 0;
  return 1 + work / kFlopsPerUnit + static_cast<double>(least_bytes(problem).value) / kBytesPerUnit;
}

Result<Shard> deal(const std::vector<NamedProblem>& problems, std::uint64_t number,
                   std::uint64_t of) {
  if (of > problems.size()) {
    return usage_error(fmt::format("--shard: {} parts of {} would leave some without a problem", of,
                                   counted(problems.size(), "problem")));
  }
  std::set<Problem> seen;
  for (const NamedProblem& named : problems) {
    if (!seen.insert(named.problem).second) {
      return usage_error("--shard: " + label(named) +
                         " is in the list twice, and would be in two parts");
    }
  }
  std::vector<std::uint64_t> order(problems.size());
  std::iota(order.begin(), order.end(), 0);
  const auto cost = [&](std::uint64_t place) { return estimated_cost(problems[place].problem); };
  std::ranges::stable_sort(order, std::ranges::greater(), cost);
  std::vector<double> load(of);
  Shard shard{.number = number, .of = of};
  for (const std::uint64_t place : order) {
    const auto least = std::ranges::min_element(load);
    *least += cost(place);
    if (least - load.begin() == static_cast<std::ptrdiff_t>(number) - 1)
      shard.problems.push_back(place);
  }
  std::ranges::sort(shard.problems);
  return shard;
}

}  // namespace fatune
