// scores.cpp: Names the changes of scores, and checks those that a problem asks for.
#include "model/problem/scores.hpp"

#include <array>

#include <fmt/format.h>

#include "core/fields.hpp"
#include "core/words.hpp"
#include "model/problem/problem.hpp"
#include "model/problem/rule.hpp"
#include "model/problem/tensor.hpp"

namespace fatune {
namespace {

/// Returns the fault of the softcap; empty for a valid one. Kernels divide the scale by it in fp32.
std::string softcap_fault(const Attention& problem) {
  constexpr double kLeast = 1e-3, kMost = 1e6;
  if (!problem.softcap || (*problem.softcap >= kLeast && *problem.softcap <= kMost)) return {};
  return fmt::format("softcap must be from {} to {}, not {:g}", kLeast, kMost, *problem.softcap);
}

/// Returns the fault of tensors that no fp8 problem has, and of slopes without positions.
std::string optional_fault(const Attention& problem) {
  const auto tensors = optional_tensors(problem);
  if (is_fp8(problem) && !tensors.empty())
    return fmt::format("the tensor {} is for f16 and bf16, not for {}", tensors.front().name,
                       name(problem.dtype));
  if (problem.alibi && problem.mask.upper_left)
    return "alibi counts positions from the last query and key, mask causal-upper-left from the "
           "first";
  return {};
}

/// Returns the fault of the softmax scale; empty for a valid scale.
std::string scale_fault(const Attention& problem) {
  // Kernels compute with the scale times log2(e) in fp32. With a larger scale than the largest, the
  // smallest queries of the type have scores so far apart that no softmax has two keys.
  constexpr double kLeast = 1e-30;
  const double most = out_dtype(problem) == Dtype::kF16 ? 1e5 : 1e30;
  if (!problem.scale || (*problem.scale >= kLeast && *problem.scale <= most)) return {};
  if (!(*problem.scale > 0))
    return fmt::format("scale must be a number greater than 0, not {}", *problem.scale);
  return fmt::format("scale must be from {} to {:g} for {}, not {:g}", kLeast, most,
                     name(out_dtype(problem)), *problem.scale);
}

/// Returns the fault of the expression that changes scores.
std::string score_fault(const Attention& problem) {
  if (problem.score.empty()) return {};
  if (is_fp8(problem)) return "score expressions are for f16 and bf16, not for fp8";
  const auto rule = PairRule::parse(problem.score, RuleKind::kScore, problem.tensors);
  if (!rule) return rule.error().message;
  const std::string fault = rule->fault(problem);
  return fault.empty() ? "" : fmt::format("score '{}': {}", problem.score, fault);
}

}  // namespace

std::string scores_fault(const Attention& problem) {
  for (const std::string& fault : {scale_fault(problem), softcap_fault(problem),
                                   optional_fault(problem), score_fault(problem)})
    if (!fault.empty()) return fault;
  return {};
}

std::string_view name(ScoreChange change) {
  constexpr std::array<std::string_view, 5> kWords = {"softcap", "bias", "alibi", "sink",
                                                      "expression"};
  return kWords.at(static_cast<std::size_t>(change));
}

std::vector<ScoreChange> score_changes(const Attention& p) {
  std::vector<ScoreChange> changes;
  if (p.softcap) changes.push_back(ScoreChange::kSoftcap);
  if (p.bias) changes.push_back(ScoreChange::kBias);
  if (p.alibi) changes.push_back(ScoreChange::kAlibi);
  if (p.sink) changes.push_back(ScoreChange::kSink);
  if (!p.score.empty()) changes.push_back(ScoreChange::kExpression);
  return changes;
}

Status set_score(Attention& problem, std::string_view text) {
  if (text.empty()) return {};
  FATUNE_TRY(const PairRule rule, PairRule::parse(text, RuleKind::kScore, problem.tensors));
  const std::optional<double> cap = rule.softcap();
  const bool caps = cap && !problem.softcap && !problem.bias && !problem.alibi;
  if (caps) problem.softcap = cap;
  problem.score = caps || rule.text() == "score" ? "" : rule.text();
  return {};
}

FieldWord<ScoreChange> word_of(const ScoreChange*) {
  static constexpr std::array kAll = {ScoreChange::kSoftcap, ScoreChange::kBias,
                                      ScoreChange::kAlibi, ScoreChange::kSink,
                                      ScoreChange::kExpression};
  return {[](std::string_view text) { return parse_word<ScoreChange>(text, kAll, "score change"); },
          kAll};
}

}  // namespace fatune
