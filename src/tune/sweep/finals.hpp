// finals.hpp: Chooses the contestants of a final phase, and ranks and judges its records.
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

/// Returns the baselines for a problem beside the reference; may be null.
using MakeBaselines = std::function<Result<std::vector<Implementation>>(const Problem&)>;

struct FinalsRequest {
  const Problem& problem;
  const std::vector<KernelRef>& kernels;  ///< the searched kernels
  const KernelRef& reference;
  const DeviceLimits& limits;
  Time time;                                   ///< that the search minimised
  std::size_t finalists = 8;                   ///< minimum number, if there are enough
  std::vector<Implementation> baselines = {};  ///< without the reference
};

/// Returns timed candidates that may be finalists, the fastest first.
std::vector<const CandidateRecord*> fastest_first(const FinalsRequest& request,
                                                  const std::vector<CandidateRecord>& candidates);
/// Returns a candidate of `kernel` as a finalist.
Result<Implementation> finalist_of(const CandidateRecord& record, const KernelRef& kernel);

/// Returns the reference kernel's default config as "naive".
Implementation reference_contestant(const KernelRef& reference, const Problem& problem);

/// Returns the fastest correct candidates, each machine code once: up to 20 if the search cannot
/// separate these from the fastest. Adds the best of each other kernel, the default config of the
/// fastest kernel if it ran, the reference kernel, and the baselines. Empty if nothing was
/// measured.
Result<std::vector<Implementation>> choose_contestants(
    const FinalsRequest& request, const std::vector<CandidateRecord>& candidates);

/// For each parameter on which all finalists of the fastest kernel agree, adds its fastest
/// candidate with another value. Finalists often fail for a common value. Returns at most eight,
/// the fastest first.
Result<std::vector<Implementation>> choose_reserves(const FinalsRequest& request,
                                                    const std::vector<Implementation>& contestants,
                                                    const std::vector<CandidateRecord>& candidates);

/// Whether `finals` has a record of every contestant, as after an earlier attempt.
bool covers(const std::vector<FinalRecord>& finals, const std::vector<Implementation>& contestants);

/// Returns the median in us; infinity without such a timing.
double median_of(const FinalRecord& record, Time time);

/// Whether round i of one side belongs to round i of the other.
enum class Pairing { kRounds, kNone };
/// Contestants of one final phase are paired, unless one has fewer values.
Pairing pairing_in_phase(const FinalRecord& a, const FinalRecord& b, Time time);

/// Returns median of a over median of b, with 10,000 resamples. Fails if a side was not measured,
/// or has too few or invalid rounds; the message names the row.
Result<Ratio> ratio_of(const FinalRecord& a, const FinalRecord& b, Time time, Pairing pairing,
                       std::uint64_t seed);

/// Measures how a candidate uses the device; may return nothing.
using CountUse = std::function<Result<DeviceUse>(const Candidate&)>;

struct Scoring {
  std::map<std::string, double> by_id;  ///< scores of measured candidates; empty: ranked by time
  std::string note;                     ///< which terms are absent, or why there is no score
  std::string winner = {};              ///< id of the best, if it was decided before; empty: none
};

/// Returns the device use of measured candidates by id.
Result<std::map<std::string, DeviceUse>> count_finalists(
    const std::vector<FinalRecord>& finals, const std::vector<Implementation>& contestants,
    const CountUse& count);

/// Scores finalists with the fastest baseline of cuDNN or PyTorch as SDPA. Without SDPA there are
/// no scores, because that term sets the scale.
Scoring score_finals(const std::vector<FinalRecord>& finals,
                     const std::map<std::string, DeviceUse>& uses);

/// Returns the id of the best in settle_finals() without scores, by a time of final_time(); empty
/// for none.
std::string winner_by_time(std::vector<FinalRecord> finals, Time time, std::uint64_t seed);

/// Sorts `finals` and fills `standings` and `gate`. The best is the fastest candidate that passed
/// every gate. Among candidates that tie by interval and are at most 0.2 % slower, the best has the
/// smallest footprint of registers and shared memory per block. A named winner takes precedence;
/// with scores, the highest score does.
void settle_finals(ProblemResult& result, Objective objective, std::uint64_t seed,
                   const Scoring& scoring = {});

}  // namespace fatune
