// ratio.hpp - two final records to the ratio of their times with its interval.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "model/results/sweep_result.hpp"

namespace fatune {

/// Whether round i of one belongs to round i of the other.
enum class Pairing { kRounds, kNone };
/// Two contestants of one final phase are paired, unless one is external or has fewer values.
Pairing pairing_in_phase(const FinalRecord& a, const FinalRecord& b, const std::string& objective);

const std::vector<double>& rounds_of(const FinalRecord& record, const std::string& objective);

/// Median of a over median of b; 10,000 resamples. Fails when either was not measured, has too few
/// rounds or one that is no time; the message names the row.
Result<Ratio> ratio_of(const FinalRecord& a, const FinalRecord& b, const std::string& objective,
                       Pairing pairing, std::uint64_t seed);

}  // namespace fatune
