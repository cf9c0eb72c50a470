// confirmation.cpp - each GPU names a winner; the one that loses least anywhere is the fleet's.
#include "tune/sweep/confirmation.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "core/log.hpp"
#include "model/results/statistics.hpp"
#include "tune/sweep/finals.hpp"
#include "tune/sweep/run_state.hpp"

namespace fatune {
namespace {

/// Null where none fits; `fits` is a member of FinalRecord. Of candidates the one that was timed
/// again, if one was: the rounds that chose it are those that all had in common.
const FinalRecord* quickest(const PhaseOnGpu& phase, const std::string& time,
                            bool (FinalRecord::*fits)() const) {
  const FinalRecord* found = nullptr;
  for (const FinalRecord& each : phase.finals) {
    if (each.outcome != Outcome::kMeasured || !(each.*fits)()) continue;
    if (each.timed_again && each.is_candidate()) return &each;
    if (found == nullptr || median_of(each, time) < median_of(*found, time)) found = &each;
  }
  return found;
}

/// The one of their times that all phases can be compared by.
std::string shared_time(const std::vector<PhaseOnGpu>& phases, const std::string& objective) {
  std::vector<FinalRecord> all;
  for (const PhaseOnGpu& phase : phases)
    all.insert(all.end(), phase.finals.begin(), phase.finals.end());
  return final_time(all, objective);
}

std::optional<ConfirmedOn> confirmed_on(const PhaseOnGpu& phase, const std::string& id,
                                        const std::string& time, std::uint64_t seed) {
  const auto own = std::ranges::find_if(phase.finals, [&](const FinalRecord& each) {
    return each.id == id && each.is_candidate() && timing_of(each, time);
  });
  if (own == phase.finals.end()) return std::nullopt;
  const double us = median_of(*own, time);
  const double best_us = median_of(*quickest(phase, time, &FinalRecord::is_candidate), time);
  ConfirmedOn on{phase.environment, winner_by_time(phase.finals, time, seed), us, us / best_us, {}};
  if (const FinalRecord* baseline = quickest(phase, time, &FinalRecord::is_baseline)) {
    const auto ratio =
        ratio_of(*own, *baseline, time, pairing_in_phase(*own, *baseline, time), seed);
    if (ratio) on.to_baseline = *ratio;
  }
  return on;
}

/// Empty unless it is correct on every GPU.
std::optional<FleetWinner> agreed_on(const std::vector<PhaseOnGpu>& phases, const std::string& id,
                                     const std::string& time, std::uint64_t seed) {
  FleetWinner all{.id = id, .time = time, .gpus = {}};
  for (const PhaseOnGpu& phase : phases) {
    auto on = confirmed_on(phase, id, time, seed);
    if (!on) return std::nullopt;
    all.gpus.push_back(*std::move(on));
  }
  const auto [least, most] = std::ranges::minmax(all.gpus, {}, &ConfirmedOn::median_us);
  all.spread = most.median_us / least.median_us - 1;
  all.worst = std::ranges::max(all.gpus, {}, &ConfirmedOn::to_fastest).to_fastest;
  return all;
}

Status check_distinct(const NamedProblem& problem, const std::vector<PhaseOnGpu>& phases) {
  for (auto each = phases.begin(); each != phases.end(); ++each) {
    const Environment& environment = each->environment;
    if (environment.device_uuid.empty()) continue;
    for (auto other = std::next(each); other != phases.end(); ++other) {
      if (other->environment.device_uuid != environment.device_uuid) continue;
      return usage_error(fmt::format("{} has two final phases on one GPU, {}", label(problem),
                                     environment.device_uuid));
    }
  }
  return {};
}

/// Runs that have a final phase of the problem.
void add_phases(const std::vector<ShardRun>& runs, const Problem& problem,
                std::vector<PhaseOnGpu>& phases) {
  for (const ShardRun& run : runs) {
    if (!run.best || !run.best->device) continue;
    PhaseOnGpu phase{*run.best->device, LastFinals(run.journal.records).of(problem)};
    if (!phase.finals.empty()) phases.push_back(std::move(phase));
  }
}

}  // namespace

std::optional<FleetWinner> agree(const std::vector<PhaseOnGpu>& phases,
                                 const std::string& objective, std::uint64_t seed) {
  std::optional<FleetWinner> best;
  const std::string time = shared_time(phases, objective);
  for (const PhaseOnGpu& phase : phases) {
    const std::string id = winner_by_time(phase.finals, time, seed);
    auto winner = id.empty() ? std::nullopt : agreed_on(phases, id, time, seed);
    if (winner && (!best || winner->worst < best->worst)) best = std::move(winner);
  }
  return best;
}

Status confirm(const std::vector<ShardRun>& searched, const std::vector<ShardRun>& again,
               Journal& merged, BestFile& best) {
  const RunPlan& plan = merged.header.plan;
  std::vector<double> ratios;
  for (BestProblem& problem : best.problems) {
    const NamedProblem named{problem.name, *problem.problem};
    std::vector<PhaseOnGpu> phases;
    add_phases(searched, named.problem, phases);
    add_phases(again, named.problem, phases);
    FATUNE_TRY_STATUS(check_distinct(named, phases));
    for (std::size_t i = 1; i < phases.size(); ++i) {
      const auto end = std::prev(merged.records.end());  // of the run
      merged.records.insert(
          end, ConfirmationRecord{named.problem, phases[i].environment, phases[i].finals});
    }
    if (const auto agreed = agree(phases, plan.objective, plan.seed)) {
      adopt(*agreed, plan, merged.header.environment, problem);
    } else {
      log::warn(label(named) + ": no winner of one GPU is correct on all; it keeps its own");
    }
    if (problem.gate) ratios.push_back(problem.gate->ratio.value);
  }
  best.geomean_ratio = geomean(ratios);
  return {};
}

}  // namespace fatune
