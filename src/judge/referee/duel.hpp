// duel.hpp: Compares judged kernels with one another and with baselines.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/fields_fwd.hpp"
#include "core/result.hpp"
#include "judge/referee/judgement.hpp"
#include "model/results/comparison.hpp"

namespace fatune {

inline constexpr std::int64_t kDuelRounds = 40;
struct AskComparison {
  std::vector<std::string> ids;        ///< judgements of one problem; the first is the reference
  std::optional<std::int64_t> rounds;  ///< kDuelRounds if empty
};
/// A kernel compared with the first one; the first kernel itself has no ratio.
struct ComparedKernel : Compared {
  FinalRecord record;
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

/// The rounds in which the baselines were measured.
enum class BaselineRounds {
  kSame,    ///< same rounds as the judged kernel
  kEarlier  ///< measured once for all judgements of the problem
};

/// Fills in the ratios and the score of a judgement that has times.
Status compare_with(const std::vector<FinalRecord>& baselines, BaselineRounds rounds,
                    const Environment& environment, JudgedKernel& judgement);
/// Returns compiler warnings, gates not run, throttling, and loss of precision to the default.
std::vector<std::string> warnings_of(const FinalRecord& record);

}  // namespace fatune
