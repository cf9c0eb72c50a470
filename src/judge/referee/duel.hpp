// duel.hpp - judged kernels that take turns in the same rounds, and who is faster.
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
  std::vector<std::string> ids;        ///< of judgements of one problem; the others over the first
  std::optional<std::int64_t> rounds;  ///< none: kDuelRounds
};
struct ComparedKernel {
  FinalRecord record;
  std::optional<Ratio> to_first;  ///< empty: of the first, or see reason
  std::string comparison;         ///< "faster", "tie", "slower"
  std::string reason;             ///< why there is no ratio
};
struct KernelComparison {
  std::string problem_id;
  std::string time;  ///< that ratios are of
  std::string device;
  bool recorded = false;
  std::vector<ComparedKernel> kernels;
};
void fields(AskComparison& x, FieldList& f);
void fields(ComparedKernel& x, FieldList& f);
void fields(KernelComparison& x, FieldList& f);

/// Of the records of one examination.
Result<KernelComparison> decide_duel(std::vector<FinalRecord> records);

}  // namespace fatune
