// duel.hpp: Compares judged kernels by times from the same rounds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/fields_fwd.hpp"
#include "core/result.hpp"
#include "model/results/record.hpp"
#include "model/results/sweep_result.hpp"

namespace fatune {

inline constexpr std::int64_t kDuelRounds = 40;
struct AskComparison {
  std::vector<std::string> ids;        ///< judgements of one problem; the first is the reference
  std::optional<std::int64_t> rounds;  ///< kDuelRounds if empty
};
struct ComparedKernel {
  FinalRecord record;
  std::optional<Ratio> to_first;  ///< empty for the first kernel, or where `reason` is set
  std::string comparison;         ///< "faster", "tie", "slower"
  std::string reason;             ///< why there is no ratio
};
struct KernelComparison {
  std::string problem_id;
  Time time = Time::kHot;  ///< the compared time
  std::string device;
  bool recorded = false;
  std::vector<ComparedKernel> kernels;
};
void fields(AskComparison& x, FieldList& f);
void fields(ComparedKernel& x, FieldList& f);
void fields(KernelComparison& x, FieldList& f);

/// Builds the comparison from the records of one examination.
Result<KernelComparison> decide_duel(std::vector<FinalRecord> records);

}  // namespace fatune
