// ratio.cpp - checks the rounds of two records and bootstraps the ratio of their medians.
#include "tune/sweep/ratio.hpp"

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

}  // namespace fatune
