// findings.cpp: Compares outputs with the reference, with a pattern, and with those of another run.
#include "worker/gates/findings.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>

#include <fmt/format.h>

#include "worker/verify/error_regions.hpp"

namespace fatune {
namespace {

/// Byte offset of the first difference; the size when there is none.
std::size_t first_difference(std::span<const std::byte> a, std::span<const std::byte> b) {
  if (std::memcmp(a.data(), b.data(), a.size()) == 0) return a.size();
  return static_cast<std::size_t>(std::mismatch(a.begin(), a.end(), b.begin()).first - a.begin());
}

void merge(const Comparison& output, Comparison& all) {
  all.max_abs = std::max(all.max_abs, output.max_abs);
  all.mean_abs = std::max(all.mean_abs, output.mean_abs);
  all.relative_l2 = std::max(all.relative_l2, output.relative_l2);
  if (output.method_l2) all.method_l2 = std::max(all.method_l2.value_or(0), *output.method_l2);
  all.allclose_1e3 = all.allclose_1e3 && output.allclose_1e3;
}

}  // namespace

std::string describe(const GateFinding& finding) {
  return fmt::format("{}: {}", name(finding.gate), finding.what);
}

std::optional<GateFinding> poison_finding(const TensorPlan& tensor, const PoisonedRun& first,
                                          const PoisonedRun& second) {
  const std::size_t at = first_difference(first.bytes, second.bytes);
  if (at == first.bytes.size()) return std::nullopt;
  const std::size_t width = tensor.width();
  std::size_t different = 0, unwritten = 0, first_unwritten = 0;
  for (std::size_t i = 0; i < first.bytes.size(); i += width) {
    if (std::memcmp(first.bytes.data() + i, second.bytes.data() + i, width) == 0) continue;
    ++different;
    bool kept = true;
    for (std::size_t byte = i; byte < i + width; ++byte) {
      kept = kept && first.bytes[byte] == std::byte{first.pattern} &&
             second.bytes[byte] == std::byte{second.pattern};
    }
    if (kept && unwritten++ == 0) first_unwritten = i / width;
  }
  const std::string all =
      fmt::format("of {} {}", first.bytes.size() / width, describe_elements(tensor));
  const auto place = [&](std::size_t element) {
    return describe_place(tensor, static_cast<std::int64_t>(element));
  };
  if (unwritten > 0) {
    return GateFinding{GateId::kPoison, fmt::format("{} {} were never written, first at {}",
                                                    unwritten, all, place(first_unwritten))};
  }
  return GateFinding{GateId::kRepeat, fmt::format("{} {} differ between two runs, first at {}",
                                                  different, all, place(at / width))};
}

std::optional<GateFinding> gap_finding(const TensorPlan& tensor, const PoisonedRun& run) {
  const std::size_t row_bytes = static_cast<std::size_t>(tensor.columns()) * tensor.width();
  const auto begin_of = [&](std::int64_t row) {
    return static_cast<std::size_t>(tensor.row_offset(row)) * tensor.width();
  };
  std::vector<std::byte> gaps(run.bytes.begin(), run.bytes.end());
  for (std::int64_t row = 0; row < tensor.rows(); ++row)
    std::fill_n(&gaps[begin_of(row)], row_bytes, std::byte{run.pattern});
  const auto changed = [&](std::byte byte) { return byte != std::byte{run.pattern}; };
  const auto found = std::ranges::find_if(gaps, changed);
  if (found == gaps.end()) return std::nullopt;
  const auto first = static_cast<std::size_t>(found - gaps.begin());
  std::int64_t before = 0;  // the row in front of it
  for (std::int64_t row = 1; row < tensor.rows(); ++row) {
    if (begin_of(row) <= first && begin_of(row) > begin_of(before)) before = row;
  }
  return GateFinding{
      GateId::kGuardBands,
      fmt::format("{} bytes between rows of {} were written, the first at +{} behind {}",
                  std::ranges::count_if(gaps, changed), tensor.name,
                  first - begin_of(before) - row_bytes,
                  describe_place(tensor, (before + 1) * tensor.columns() - 1))};
}

MaybeFailure Variation::differs(const GateFinding& finding, const Judgement& verdict) {
  if (!allowed_ || finding.gate == GateId::kPoison) return refused(finding.gate, finding.what);
  if (!verdict.passed)
    return refused(GateId::kAccuracy, verdict.reason + ", in one of two runs that differ");
  notes_.try_emplace(finding.gate, describe(finding));
  return std::nullopt;
}

void Variation::note_in(Verification& verification) const {
  for (const auto& [gate, found] : notes_) {
    drop_gate(gate, verification);
    verification.not_run.push_back(found + "; each run was judged by itself");
  }
}

/// The first output that fails, or the one nearest to its limits.
Judged judge_outputs(const DeviceProblem& problem, const InputSet& set, std::size_t host,
                     std::size_t checked) {
  Judged judged;
  judged.verdict.passed = true;
  for (std::size_t i = 0; i < set.outputs.size(); ++i) {
    const Comparison comparison = compare(set.outputs[i], problem.host_output(host, i));
    merge(comparison, judged.figures);
    const Judgement verdict = judge(set.outputs[i], comparison);
    const bool worse = verdict.margin > judged.verdict.margin || judged.verdict.worst_rule.empty();
    if (judged.verdict.passed && (worse || !verdict.passed)) judged.verdict = verdict;
  }
  if (problem.problem().is(&Attention::lse) && checked > 1)
    judged.lse = judge_lse(set.lse, problem.host_output(host, 1));
  return judged;
}

std::vector<ErrorRegion> wrong_regions(const DeviceProblem& problem, const InputSet& set,
                                       std::size_t host) {
  std::vector<ErrorRegion> regions;
  for (std::size_t i = 0; i < set.outputs.size(); ++i) {
    const std::span<const std::byte> out = problem.host_output(host, i);
    if (judge(set.outputs[i], compare(set.outputs[i], out)).passed) continue;
    std::ranges::move(error_regions(set.outputs[i], out), std::back_inserter(regions));
  }
  return regions;
}

void account_margin(const Judgement& verdict, Verification& verification) {
  if (verdict.margin < verification.margin) return;
  verification.margin = verdict.margin;
  verification.worst_rule = verdict.worst_rule;
}

void account(const Judged& judged, const InputCase& which, Verification& verification) {
  account_margin(judged.worst(), verification);
  if (judged.lse) {
    LseErrors& errors = verification.lse ? *verification.lse : verification.lse.emplace();
    errors.margin = std::max(errors.margin, judged.lse->verdict.margin);
    errors.max_abs_diff = std::max(errors.max_abs_diff, judged.lse->max_abs);
  }
  ++verification.seeds;
  if (which.distribution != Distribution::kNormal) return;
  const Comparison& figures = judged.figures;
  const bool first = verification.max_abs_diff == 0 && verification.seeds == 1;
  verification.max_abs_diff = std::max(verification.max_abs_diff, figures.max_abs);
  verification.mean_abs_diff = std::max(verification.mean_abs_diff, figures.mean_abs);
  verification.relative_l2 =
      std::max(verification.relative_l2, std::min(figures.relative_l2, kWorstMargin));
  if (figures.method_l2) {
    verification.method_l2 =
        std::max(verification.method_l2.value_or(0), std::min(*figures.method_l2, kWorstMargin));
  }
  verification.allclose_1e3 = (first || verification.allclose_1e3) && figures.allclose_1e3;
}

}  // namespace fatune
