// finals.hpp - the candidates of a search to the contestants of its final phase; its records to
// ratios, scores, an order and the gate's verdict.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "model/results/record.hpp"
#include "model/results/sweep_result.hpp"
#include "tune/evaluate/evaluator.hpp"
#include "tune/profile/score.hpp"

namespace fatune {

/// What a sweep's winners are measured against on a problem, beside the reference; empty: nothing.
using MakeBaselines = std::function<Result<std::vector<Implementation>>(const Problem&)>;

struct FinalsRequest {
  const Problem& problem;
  const std::vector<KernelRef>& kernels;  ///< those searched
  const KernelRef& reference;
  const DeviceLimits& limits;
  std::string objective;
  std::size_t finalists = 8;                   ///< at least, of those that there are
  std::vector<Implementation> baselines = {};  ///< beside the reference
};

/// Those that may be finalists and were timed, the fastest first.
std::vector<const CandidateRecord*> fastest_first(const FinalsRequest& request,
                                                  const std::vector<CandidateRecord>& candidates);
/// A candidate of `kernel` in the role "finalist".
Result<Implementation> finalist_of(const CandidateRecord& record, const KernelRef& kernel);

/// The reference kernel's default config as "naive".
Implementation reference_contestant(const KernelRef& reference, const Problem& problem);

/// The fastest correct candidates, each machine code once, and up to 20 where the search cannot
/// tell them from the fastest; the best of each other kernel; the default config of the fastest
/// one's kernel, if it ran and is not among them; the reference kernel; the other baselines. Empty
/// when nothing was measured.
Result<std::vector<Implementation>> choose_contestants(
    const FinalsRequest& request, const std::vector<CandidateRecord>& candidates);

/// Whether `finals` has a record of every contestant: an earlier attempt got that far.
bool covers(const std::vector<FinalRecord>& finals, const std::vector<Implementation>& contestants);

/// Microseconds of "in_layer", "plain", "hot" or "cold"; infinity where it was not timed so.
double median_of(const FinalRecord& record, const std::string& time);

/// Whether round i of one belongs to round i of the other.
enum class Pairing { kRounds, kNone };
/// Two contestants of one final phase are paired, unless one has fewer values.
Pairing pairing_in_phase(const FinalRecord& a, const FinalRecord& b, const std::string& objective);

/// Median of a over median of b; 10,000 resamples. Fails when either was not measured, has too few
/// rounds or one that is no time; the message names the row.
Result<Ratio> ratio_of(const FinalRecord& a, const FinalRecord& b, const std::string& objective,
                       Pairing pairing, std::uint64_t seed);

/// The objective under which the search minimises hot time and the final phase ranks by score.
inline constexpr const char* kScoreObjective = "score";
/// A usage error unless it is in_layer, hot, cold or score.
Status check_objective(std::string_view objective);

/// Counts what the hardware does for a candidate; may find nothing.
using CountUse = std::function<Result<DeviceUse>(const Candidate&)>;

struct Scoring {
  std::map<std::string, double> by_id;  ///< of measured candidates; empty: ranked by time
  std::string note;                     ///< which terms are absent, or why there is no score
  std::string winner = {};  ///< id of the one that is best whatever its time; empty: none is
};

/// Of the candidates that were measured, by id.
Result<std::map<std::string, DeviceUse>> count_finalists(
    const std::vector<FinalRecord>& finals, const std::vector<Implementation>& contestants,
    const CountUse& count);

/// SDPA is the fastest measured baseline that is cuDNN's or PyTorch's. Without one the scores would
/// lack the term that gives them their scale, so there are none.
Scoring score_finals(const std::vector<FinalRecord>& finals,
                     const std::map<std::string, DeviceUse>& uses);

/// Id of the candidate that settle_finals() makes the best without scores, by a time of
/// final_time(); empty for none.
std::string winner_by_time(std::vector<FinalRecord> finals, const std::string& time,
                           std::uint64_t seed);

/// Sorts `finals` and fills `standings` and `gate`. Best is the fastest candidate that passed every
/// gate; among those that tie with it by interval and take at most 0.2 % longer, the one that takes
/// least of a multiprocessor (registers and shared memory of a block).
/// With a winner named, that one is best; with scores, the candidate with the highest one instead.
void settle_finals(ProblemResult& result, const std::string& objective, std::uint64_t seed,
                   const Scoring& scoring = {});

}  // namespace fatune
