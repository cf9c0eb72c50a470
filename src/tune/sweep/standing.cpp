// standing.cpp - compares by paired rounds, scores alike, and lets the smaller of equals win.
#include "tune/sweep/standing.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "core/text.hpp"
#include "model/results/statistics.hpp"

namespace fatune {
namespace {

/// Says why a record has no times to compare.
Status check_measured(const FinalRecord& record, const std::string& objective) {
  if (record.outcome == Outcome::kMeasured)
    return check_samples(rounds_of(record, objective), record.impl + " (" + objective + ")");
  const std::string reason = record.reason.empty() ? "" : ": " + record.reason;
  return device_error(record.impl + " is " + std::string(name(record.outcome)) + reason);
}

bool measured(const FinalRecord& record) {
  return record.outcome == Outcome::kMeasured && record.hot.has_value();
}

bool is_sdpa(const FinalRecord& record) {
  return record.role == "baseline" &&
         (record.impl.starts_with("torch:") || record.impl.starts_with("cudnn"));
}

/// Hot time of the fastest; empty when none was measured.
std::optional<double> sdpa_time(const std::vector<FinalRecord>& finals) {
  std::optional<double> fastest;
  for (const FinalRecord& record : finals) {
    if (!measured(record) || !is_sdpa(record)) continue;
    fastest = std::min(fastest.value_or(record.hot->median_us), record.hot->median_us);
  }
  return fastest;
}

ScoreInputs inputs_of(const FinalRecord& record, const DeviceUse& use, double sdpa_us) {
  ScoreInputs inputs;
  inputs.candidate_us = record.hot->median_us;
  inputs.sdpa_us = sdpa_us;
  inputs.tensor_pct = use.tensor_pct;
  inputs.sm_busy_pct = use.sm_busy_pct;
  inputs.syncs = use.syncs;
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

bool competes(const FinalRecord& record) { return measured(record) && record.role != "baseline"; }

std::string note_of(const CompositeScore& score, const std::map<std::string, DeviceUse>& uses) {
  if (score.absent.empty()) return "";
  std::string note = "scored without " + join(score.absent, ", ");
  for (const auto& [id, use] : uses) {
    if (!use.missing.empty()) return note + ": " + use.missing;
  }
  return note;
}

constexpr std::int64_t kRegisterBytes = 4;

double median_of(const FinalRecord& record, const std::string& objective) {
  const auto& timing = objective_timing(record, objective);
  return timing ? timing->median_us : std::numeric_limits<double>::infinity();
}

bool is_candidate(const FinalRecord& record) {
  return record.role != "baseline" && record.outcome == Outcome::kMeasured;
}

/// Bytes of a multiprocessor's registers and shared memory that a block holds.
std::int64_t footprint(const FinalRecord& record) {
  if (!record.resources) return std::numeric_limits<std::int64_t>::max();
  const Resources& used = *record.resources;
  return kRegisterBytes * used.registers * used.threads + used.static_shared_bytes +
         used.dynamic_shared_bytes;
}

/// Empty when either has no times, or too few.
std::optional<Ratio> ratio_in_phase(const FinalRecord& a, const FinalRecord& b,
                                    const std::string& objective, std::uint64_t seed) {
  auto ratio = ratio_of(a, b, objective, pairing_in_phase(a, b, objective), seed);
  return ratio ? std::optional(*ratio) : std::nullopt;
}

bool ties(const std::optional<Ratio>& ratio) {
  return ratio && compare_interval({ratio->low, ratio->high}, 0) == Verdict::kTie;
}

/// Fastest first; then those that failed.
void sort_by_time(std::vector<FinalRecord>& finals, const std::string& objective) {
  std::stable_sort(finals.begin(), finals.end(), [&](const FinalRecord& a, const FinalRecord& b) {
    const bool a_failed = a.outcome != Outcome::kMeasured,
               b_failed = b.outcome != Outcome::kMeasured;
    if (a_failed != b_failed) return b_failed;
    return median_of(a, objective) < median_of(b, objective);
  });
}

/// Puts the winner first, leaving the order of the others.
void promote_winner(std::vector<FinalRecord>& finals, const std::string& objective,
                    std::uint64_t seed) {
  const auto fastest = std::find_if(finals.begin(), finals.end(), is_candidate);
  if (fastest == finals.end()) return;
  auto winner = fastest;
  for (auto other = fastest + 1; other != finals.end(); ++other) {
    const bool equal =
        is_candidate(*other) && ties(ratio_in_phase(*other, *fastest, objective, seed));
    if (equal && footprint(*other) < footprint(*winner)) winner = other;
  }
  std::rotate(finals.begin(), winner, winner + 1);
}

void promote_id(std::vector<FinalRecord>& finals, const std::string& id) {
  const auto winner = std::find_if(finals.begin(), finals.end(), [&](const FinalRecord& record) {
    return record.id == id && is_candidate(record);
  });
  if (winner != finals.end()) std::rotate(finals.begin(), winner, winner + 1);
}

/// The same with the highest score instead of the least time.
void promote_highest(std::vector<FinalRecord>& finals, const std::map<std::string, double>& by_id) {
  auto highest = finals.end();
  double best = 0;
  for (auto each = finals.begin(); each != finals.end(); ++each) {
    const auto score = by_id.find(each->id);
    if (!is_candidate(*each) || score == by_id.end()) continue;
    if (highest != finals.end() && score->second <= best) continue;
    highest = each;
    best = score->second;
  }
  if (highest != finals.end()) std::rotate(finals.begin(), highest, highest + 1);
}

Standing standing_of(const FinalRecord& record, const FinalRecord& best,
                     const FinalRecord* baseline, const std::string& objective,
                     std::uint64_t seed) {
  Standing standing;
  if (baseline != nullptr)
    standing.to_baseline = ratio_in_phase(record, *baseline, objective, seed);
  if (standing.to_baseline) standing.verdict = verdict_word(standing.to_baseline->value);
  standing.ties_with_best = &record != &best && ties(ratio_in_phase(record, best, objective, seed));
  return standing;
}

}  // namespace

const std::vector<double>& rounds_of(const FinalRecord& record, const std::string& objective) {
  return objective == "cold" ? record.cold_rounds_us : record.hot_rounds_us;
}

Pairing pairing_in_phase(const FinalRecord& a, const FinalRecord& b, const std::string& objective) {
  const bool aligned = rounds_of(a, objective).size() == rounds_of(b, objective).size();
  return aligned && !a.external && !b.external ? Pairing::kRounds : Pairing::kNone;
}

Result<Ratio> ratio_of(const FinalRecord& a, const FinalRecord& b, const std::string& objective,
                       Pairing pairing, std::uint64_t seed) {
  FATUNE_TRY_STATUS(check_measured(a, objective));
  FATUNE_TRY_STATUS(check_measured(b, objective));
  const auto& rounds_a = rounds_of(a, objective);
  const auto& rounds_b = rounds_of(b, objective);
  const Interval interval = pairing == Pairing::kRounds
                                ? bootstrap_ratio(rounds_a, rounds_b, kResamples, seed)
                                : bootstrap_ratio_unpaired(rounds_a, rounds_b, kResamples, seed);
  return Ratio{median(rounds_a) / median(rounds_b), interval.low, interval.high};
}

Status check_objective(std::string_view objective) {
  if (objective == "hot" || objective == "cold" || objective == kScoreObjective) return {};
  return usage_error(
      fmt::format("--objective: '{}' is neither hot nor cold nor {}", objective, kScoreObjective));
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
    return {{},
            "no score: it is relative to cuDNN's or PyTorch's attention, and neither was measured; "
            "ranked by hot time (see --baselines)"};
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

void settle_finals(ProblemResult& result, const std::string& objective, std::uint64_t seed,
                   const Scoring& scoring) {
  std::vector<FinalRecord>& finals = result.finals;
  result.standings.clear();
  result.gate.reset();
  result.score_note = scoring.note;
  if (finals.empty()) return;
  sort_by_time(finals, objective);
  if (!scoring.winner.empty()) {
    promote_id(finals, scoring.winner);
  } else if (scoring.by_id.empty()) {
    promote_winner(finals, objective, seed);
  } else {
    promote_highest(finals, scoring.by_id);
  }

  const auto baseline = std::find_if(finals.begin(), finals.end(), [](const FinalRecord& record) {
    return record.role == "baseline";
  });
  for (const FinalRecord& record : finals) {
    result.standings.push_back(standing_of(
        record, finals.front(), baseline == finals.end() ? nullptr : &*baseline, objective, seed));
    const auto score = scoring.by_id.find(record.id);
    if (is_candidate(record) && score != scoring.by_id.end())
      result.standings.back().score = score->second;
  }
  if (result.best() == nullptr || !result.standings.front().to_baseline) return;
  const Ratio ratio = *result.standings.front().to_baseline;
  result.gate = Gate{baseline->impl, ratio, kGateThreshold, ratio.high < kGateThreshold};
}

}  // namespace fatune
