// finals.cpp: Picks contestants, compares paired rounds, and lets the smaller of equals win.
#include "tune/sweep/finals.hpp"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "core/text.hpp"
#include "model/results/statistics.hpp"

namespace fatune {
namespace {

/// Returns the reference's name as an implementation; always "naive" for attention.
std::string reference_impl(const Manifest& manifest) {
  return manifest.operation->declared() != nullptr ? manifest.name : "naive";
}

constexpr std::size_t kMostFinalists = 20;  // chosen: as many as regret is measured with

/// Returns the number of finalists: as requested, and more if the search cannot separate them from
/// the fastest. At the power limit clocks change between candidates, so that many tie.
std::size_t finalists_of(const FinalsRequest& request,
                         const std::vector<const CandidateRecord*>& ranked) {
  std::size_t count = std::min(request.finalists, ranked.size());
  const auto timing = [&](std::size_t i) { return *searched_timing(*ranked[i], request.time); };
  while (count < std::min(ranked.size(), kMostFinalists) && !told_apart(timing(count), timing(0)))
    ++count;
  return count;
}

/// Whether the default config ran on the device. A config that is wrong or does not compile is no
/// contestant.
bool ran(const std::vector<CandidateRecord>& candidates, const std::string& key) {
  return std::ranges::any_of(candidates, [&](const CandidateRecord& record) {
    const bool timed = record.outcome == Outcome::kMeasured || record.outcome == Outcome::kPruned;
    return record.key == key && timed && record.hot.has_value();
  });
}

/// Explains why a record has no times to compare.
Status check_measured(const FinalRecord& record, Time time) {
  if (record.outcome == Outcome::kMeasured)
    return check_samples(rounds_of(record, time), fmt::format("{} ({})", record.impl, name(time)));
  const std::string reason = record.reason.empty() ? "" : ": " + record.reason;
  return device_error(record.impl + " is " + std::string(name(record.outcome)) + reason);
}

bool is_sdpa(const FinalRecord& record) {
  return record.is_baseline() && record.problem.attention() != nullptr &&
         (record.impl.starts_with("torch:") || record.impl.starts_with("cudnn"));
}

/// Returns the hot time of the fastest SDPA; empty if none was measured.
std::optional<double> sdpa_time(const std::vector<FinalRecord>& finals) {
  std::optional<double> fastest;
  for (const FinalRecord& record : finals) {
    if (!record.is_timed() || !is_sdpa(record)) continue;
    fastest = std::min(fastest.value_or(record.hot->median_us), record.hot->median_us);
  }
  return fastest;
}

ScoreInputs inputs_of(const FinalRecord& record, const DeviceUse& use, double sdpa_us) {
  ScoreInputs inputs{use, record.hot->median_us, sdpa_us, {}, {}};
  if (!record.resources) return inputs;
  const Resources& r = *record.resources;
  inputs.registers = r.registers;
  inputs.spill_bytes = static_cast<double>(r.spill_store_bytes + r.spill_load_bytes);
  return inputs;
}

const Candidate* candidate_of(const FinalRecord& record,
                              const std::vector<Implementation>& contestants) {
  for (const Implementation& each : contestants) {
    const bool same = !each.outside && each.impl == record.impl && each.role == record.role &&
                      to_json(each.candidate.config) == record.config;
    if (same) return &each.candidate;
  }
  return nullptr;
}

bool competes(const FinalRecord& record) { return record.is_timed() && !record.is_baseline(); }

std::string note_of(const CompositeScore& score, const std::map<std::string, DeviceUse>& uses) {
  if (score.absent.empty()) return "";
  std::string note = "scored without " + join(score.absent, ", ");
  for (const auto& [id, use] : uses) {
    if (!use.missing.empty()) return note + ": " + use.missing;
  }
  return note;
}

constexpr std::int64_t kRegisterBytes = 4;

/// Returns the bytes of registers and shared memory of a block.
std::int64_t footprint(const FinalRecord& record) {
  if (!record.resources) return std::numeric_limits<std::int64_t>::max();
  const Resources& used = *record.resources;
  return kRegisterBytes * used.registers * used.threads + used.static_shared_bytes +
         used.dynamic_shared_bytes;
}

/// Returns empty if a side has no times, or too few.
std::optional<Ratio> ratio_in_phase(const FinalRecord& a, const FinalRecord& b, Time time,
                                    std::uint64_t seed) {
  auto ratio = ratio_of(a, b, time, pairing_in_phase(a, b, time), seed);
  return ratio ? std::optional(*ratio) : std::nullopt;
}

bool ties(const std::optional<Ratio>& ratio) {
  return ratio && compare_interval({ratio->low, ratio->high}, 0) == Verdict::kTie;
}

/// Sorts by time, with failed records last.
void sort_by_time(std::vector<FinalRecord>& finals, Time time) {
  std::ranges::stable_sort(finals, {}, [&](const FinalRecord& record) {
    return std::pair(record.outcome != Outcome::kMeasured, median_of(record, time));
  });
}

using Place = std::vector<FinalRecord>::iterator;

/// Chosen below the difference between two runs of one config. Limits the cost of a smaller kernel,
/// because a tie may hide larger differences if rounds are few or clocks change.
constexpr double kAlike = 1.002;

/// Returns the record chosen before it was timed again, or else the smallest of the records that
/// tie with the fastest. `finals` are sorted by time.
Place fastest_and_smallest(std::vector<FinalRecord>& finals, Time time, std::uint64_t seed) {
  const Place chosen = std::ranges::find_if(finals, [](const FinalRecord& record) {
    return record.is_candidate() && record.timed_again;
  });
  if (chosen != finals.end()) return chosen;
  const Place fastest = std::ranges::find_if(finals, &FinalRecord::is_candidate);
  Place winner = fastest;
  for (Place other = fastest; other != finals.end(); ++other) {
    if (median_of(*other, time) > kAlike * median_of(*fastest, time)) break;
    const bool smaller = other->is_candidate() && footprint(*other) < footprint(*winner);
    if (smaller && ties(ratio_in_phase(*other, *fastest, time, seed))) winner = other;
  }
  return winner;
}

Place highest_score(std::vector<FinalRecord>& finals, const std::map<std::string, double>& by_id) {
  Place highest = finals.end();
  for (Place each = finals.begin(); each != finals.end(); ++each) {
    if (!each->is_candidate() || !by_id.contains(each->id)) continue;
    if (highest == finals.end() || by_id.at(each->id) > by_id.at(highest->id)) highest = each;
  }
  return highest;
}

Place winner_of(std::vector<FinalRecord>& finals, const Scoring& scoring, Time time,
                std::uint64_t seed) {
  if (!scoring.winner.empty()) {
    return std::ranges::find_if(finals, [&](const FinalRecord& record) {
      return record.id == scoring.winner && record.is_candidate();
    });
  }
  return scoring.by_id.empty() ? fastest_and_smallest(finals, time, seed)
                               : highest_score(finals, scoring.by_id);
}

Standing standing_of(const FinalRecord& record, const FinalRecord& best,
                     const FinalRecord* baseline, Time time, std::uint64_t seed) {
  Standing standing;
  if (baseline != nullptr) standing.to_baseline = ratio_in_phase(record, *baseline, time, seed);
  if (standing.to_baseline) standing.verdict = verdict_word(standing.to_baseline->value);
  standing.ties_with_best = &record != &best && ties(ratio_in_phase(record, best, time, seed));
  return standing;
}

}  // namespace

std::vector<const CandidateRecord*> fastest_first(const FinalsRequest& request,
                                                  const std::vector<CandidateRecord>& candidates) {
  std::vector<const CandidateRecord*> ranked;
  for (const CandidateRecord& record : candidates) {
    const bool timed = searched_timing(record, request.time).has_value();
    if (record.outcome == Outcome::kMeasured && timed) ranked.push_back(&record);
  }
  std::ranges::stable_sort(ranked, {}, [&](const CandidateRecord* record) {
    return searched_timing(*record, request.time)->median_us;
  });
  return ranked;
}

Result<Implementation> finalist_of(const CandidateRecord& record, const KernelRef& kernel) {
  FATUNE_TRY(Config config,
             config_from_json(kernel->manifest, record.config, "candidate " + record.id));
  return implementation_of({kernel, std::move(config), record.problem});
}

double median_of(const FinalRecord& record, Time time) {
  const auto& timing = timing_of(record, time);
  return timing ? timing->median_us : std::numeric_limits<double>::infinity();
}

Implementation reference_contestant(const KernelRef& reference, const Problem& problem) {
  const Manifest& manifest = reference->manifest;
  return {
      reference_impl(manifest), RowRole::kBaseline, {reference, default_config(manifest), problem}};
}

Result<std::vector<Implementation>> choose_contestants(
    const FinalsRequest& request, const std::vector<CandidateRecord>& candidates) {
  const auto ranked = fastest_first(request, candidates);
  const std::size_t finalists = finalists_of(request, ranked);
  std::vector<Implementation> chosen;
  std::set<std::string> keys, kernels;
  for (const CandidateRecord* record : ranked) {
    // Adds the best of each kernel, so that one final phase yields a table of kernels.
    if (chosen.size() >= finalists && kernels.contains(record->kernel)) continue;
    const KernelRef kernel = kernel_named(request.kernels, record->kernel);
    if (!kernel) continue;
    FATUNE_TRY(Implementation finalist, finalist_of(*record, kernel));
    chosen.push_back(std::move(finalist));
    keys.insert(record->key);
    kernels.insert(record->kernel);
  }
  if (chosen.empty()) return chosen;

  const KernelRef& winner = chosen.front().candidate.kernel;
  Candidate usual{winner, default_config(winner->manifest), request.problem};
  const std::string usual_key = candidate_key(usual);
  if (!keys.contains(usual_key) && ran(candidates, usual_key)) {
    chosen.push_back(implementation_of(std::move(usual), RowRole::kDefault));
  }
  if (request.reference) {
    const Manifest& manifest = request.reference->manifest;
    FATUNE_TRY(const std::string reason,
               unsupported_reason(manifest, request.problem, request.limits));
    if (reason.empty()) {
      chosen.push_back(reference_contestant(request.reference, request.problem));
    }
  }
  chosen.insert(chosen.end(), request.baselines.begin(), request.baselines.end());
  return chosen;
}

bool covers(const std::vector<FinalRecord>& finals,
            const std::vector<Implementation>& contestants) {
  return std::ranges::all_of(contestants, [&](const Implementation& contestant) {
    return std::ranges::any_of(finals, [&](const FinalRecord& record) {
      return record.impl == contestant.impl && record.role == contestant.role &&
             record.config == to_json(contestant.candidate.config);
    });
  });
}

Pairing pairing_in_phase(const FinalRecord& a, const FinalRecord& b, Time time) {
  const bool aligned = rounds_of(a, time).size() == rounds_of(b, time).size();
  const bool together = a.timed_again == b.timed_again;
  return aligned && together ? Pairing::kRounds : Pairing::kNone;
}

Result<Ratio> ratio_of(const FinalRecord& a, const FinalRecord& b, Time time, Pairing pairing,
                       std::uint64_t seed) {
  FATUNE_TRY_STATUS(check_measured(a, time));
  FATUNE_TRY_STATUS(check_measured(b, time));
  const auto& rounds_a = rounds_of(a, time);
  const auto& rounds_b = rounds_of(b, time);
  const Interval interval = pairing == Pairing::kRounds
                                ? bootstrap_ratio(rounds_a, rounds_b, kResamples, seed)
                                : bootstrap_ratio_unpaired(rounds_a, rounds_b, kResamples, seed);
  return Ratio{median(rounds_a) / median(rounds_b), interval.low, interval.high};
}

Result<std::map<std::string, DeviceUse>> count_finalists(
    const std::vector<FinalRecord>& finals, const std::vector<Implementation>& contestants,
    const CountUse& count) {
  std::map<std::string, DeviceUse> uses;
  if (!count || !sdpa_time(finals)) return uses;
  for (const FinalRecord& record : finals) {
    const Candidate* candidate = candidate_of(record, contestants);
    if (!competes(record) || candidate == nullptr) continue;
    FATUNE_TRY(uses[record.id], count(*candidate));
  }
  return uses;
}

Scoring score_finals(const std::vector<FinalRecord>& finals,
                     const std::map<std::string, DeviceUse>& uses) {
  const auto sdpa_us = sdpa_time(finals);
  if (!sdpa_us) {
    return {
        {},
        fmt::format("no score: it is relative to cuDNN's or PyTorch's attention, and neither was "
                    "measured; ranked by {} time (see --baselines)",
                    name(final_time(finals, Objective::kScore)))};
  }
  std::vector<std::string> ids;
  std::vector<ScoreInputs> inputs;
  for (const FinalRecord& record : finals) {
    if (!competes(record)) continue;
    const auto use = uses.find(record.id);
    ids.push_back(record.id);
    inputs.push_back(inputs_of(record, use == uses.end() ? DeviceUse() : use->second, *sdpa_us));
  }
  const std::vector<CompositeScore> scores = comparable_scores(std::move(inputs));
  Scoring scoring;
  for (std::size_t i = 0; i < ids.size(); ++i) scoring.by_id[ids[i]] = scores[i].value;
  if (!scores.empty()) scoring.note = note_of(scores.front(), uses);
  return scoring;
}

std::string winner_by_time(std::vector<FinalRecord> finals, Time time, std::uint64_t seed) {
  sort_by_time(finals, time);
  const Place winner = fastest_and_smallest(finals, time, seed);
  return winner == finals.end() ? "" : winner->id;
}

void settle_finals(ProblemResult& result, Objective objective, std::uint64_t seed,
                   const Scoring& scoring) {
  std::vector<FinalRecord>& finals = result.finals;
  result.standings.clear();
  result.gate.reset();
  result.score_note = scoring.note;
  if (finals.empty()) return;
  const Time time = final_time(finals, objective);
  sort_by_time(finals, time);
  const Place winner = winner_of(finals, scoring, time, seed);
  // The other records keep their order.
  if (winner != finals.end()) std::rotate(finals.begin(), winner, winner + 1);
  const Place baseline = std::ranges::find_if(finals, &FinalRecord::is_baseline);
  for (const FinalRecord& record : finals) {
    result.standings.push_back(standing_of(
        record, finals.front(), baseline == finals.end() ? nullptr : &*baseline, time, seed));
    const auto score = scoring.by_id.find(record.id);
    if (record.is_candidate() && score != scoring.by_id.end())
      result.standings.back().score = score->second;
  }
  if (result.best() == nullptr || !result.standings.front().to_baseline) return;
  const Ratio ratio = *result.standings.front().to_baseline;
  result.gate = Gate{baseline->impl, ratio, kGateThreshold, ratio.high < kGateThreshold, time};
}

}  // namespace fatune
