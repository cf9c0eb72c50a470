// standing.cpp - compares contestants by paired rounds and lets the smaller of equals win.
#include "tune/sweep/standing.hpp"

#include <algorithm>
#include <limits>

#include "model/results/statistics.hpp"
#include "tune/sweep/ratio.hpp"

namespace fatune {
namespace {

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
