// lse.cpp - norms of queries and keys to limits; one pass over the log-sum-exps.
#include "worker/verify/lse.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

#include <fmt/core.h>

#include "core/check.hpp"
#include "core/parallel.hpp"
#include "worker/verify/host_reference.hpp"

namespace fatune {
namespace {

constexpr std::size_t kRowsOfAThread = 1024;  // chosen: some 100 us of work
/// An addition may truncate, as tensor cores do (2^-23 of the magnitude); doubled for the
/// reference's own sums.
constexpr double kScoreStep = 0x1p-22;
constexpr double kScoreRoundings = 8;  ///< besides the products': scale, exponent, peak, logarithm
constexpr double kKeyStep = 0x1p-24;   ///< rounding of a sum of positive fp32 numbers

/// The rounding of the element type that weights go through before they meet the values.
double weight_rounding(Dtype dtype) {
  switch (dtype) {
    case Dtype::kF16:
      return 0x1p-11;
    case Dtype::kBf16:
      return 0x1p-8;
    case Dtype::kE4m3:
      return 0x1p-4;
    case Dtype::kE5m2:
      return 0x1p-3;
  }
  return 0;
}

template <typename Element>
std::vector<double> norms_of(Dtype dtype, std::span<const std::byte> tensor, std::int64_t columns) {
  const auto table = decode_table(dtype);
  const auto width = static_cast<std::size_t>(columns);
  const Element* elements = reinterpret_cast<const Element*>(tensor.data());
  std::vector<double> norms(tensor.size() / sizeof(Element) / width);
  parallel_for(norms.size(), kRowsOfAThread, [&](std::size_t begin, std::size_t end) {
    for (std::size_t row = begin; row < end; ++row) {
      double squares = 0;
      for (std::size_t i = row * width; i < (row + 1) * width; ++i) {
        const double value = table[elements[i]];
        squares += value * value;
      }
      norms[row] = std::sqrt(squares);
    }
  });
  return norms;
}

/// The length of each vector of head_dim elements.
std::vector<double> norms_of(const Problem& problem, std::span<const std::byte> tensor) {
  return size_of(problem.dtype) == 1
             ? norms_of<std::uint8_t>(problem.dtype, tensor, problem.head_dim)
             : norms_of<std::uint16_t>(problem.dtype, tensor, problem.head_dim);
}

/// Rows that break a rule without a number: how many, and the first.
struct Broken {
  std::size_t rows = 0, first = 0;
  void add(std::size_t row) {
    if (rows++ == 0) first = row;
  }
  std::string reason(const LseReference& reference, std::string_view what) const {
    return fmt::format("lse: {} of {} {}, first at {}", rows, reference.values.size(), what,
                       describe_place(reference.tensor, static_cast<std::int64_t>(first)));
  }
};

}  // namespace

LseReference make_lse_reference(const Problem& problem, const HostInputs& inputs,
                                std::vector<float> values) {
  FATUNE_CHECK(static_cast<std::int64_t>(values.size()) == problem.rows(), "one value a row");
  LseReference reference{attention_plan(problem).tensors.back(), std::move(values), {}};
  const std::vector<double> queries = norms_of(problem, inputs.q);
  const std::vector<double> keys = norms_of(problem, inputs.k);
  const std::int64_t group = problem.heads / problem.kv_heads;
  const auto dim = static_cast<double>(problem.head_dim);
  const double step = kScoreStep * (dim + kScoreRoundings) / std::sqrt(dim);
  reference.limits.reserve(queries.size());
  for (std::int64_t head = 0; head < problem.batch * problem.heads; ++head) {
    const auto first_key = keys.begin() + head / group * problem.seq_kv;
    const double longest_key = *std::max_element(first_key, first_key + problem.seq_kv);
    for (std::int64_t row = 0; row < problem.seq_q; ++row) {
      const double query = queries[static_cast<std::size_t>(head * problem.seq_q + row)];
      const auto seen = static_cast<double>(visible_keys(problem, row));
      const double limit =
          step * query * longest_key + kKeyStep * seen + weight_rounding(problem.dtype);
      reference.limits.push_back(static_cast<float>(limit));
    }
  }
  return reference;
}

LseJudgement judge_lse(const LseReference& reference, std::span<const std::byte> lse) {
  constexpr float kNoKey = -std::numeric_limits<float>::infinity();
  FATUNE_CHECK(lse.size() == reference.values.size() * sizeof(float), "one value a row");
  LseJudgement result;
  Broken not_finite, not_nothing;
  std::size_t worst = 0;
  double worst_error = 0;
  for (std::size_t row = 0; row < reference.values.size(); ++row) {
    float value = 0;
    std::memcpy(&value, lse.data() + row * sizeof value, sizeof value);
    if (reference.values[row] == kNoKey) {
      if (value != kNoKey) not_nothing.add(row);
      continue;
    }
    const double error = std::abs(static_cast<double>(value) - reference.values[row]);
    if (!std::isfinite(error)) {
      not_finite.add(row);
      continue;
    }
    result.max_abs = std::max(result.max_abs, error);
    const double margin = std::min(error / reference.limits[row], kWorstMargin);
    if (margin < result.verdict.margin) continue;
    result.verdict.margin = margin;
    worst = row;
    worst_error = error;
  }
  result.verdict.worst_rule = "lse";
  if (not_finite.rows > 0 || not_nothing.rows > 0) {
    result.verdict.margin = kWorstMargin;
    result.verdict.reason =
        not_finite.rows > 0
            ? not_finite.reason(reference, "log-sum-exps are NaN or infinite")
            : not_nothing.reason(reference, "log-sum-exps are not -inf though no key is seen");
    return result;
  }
  result.verdict.passed = result.verdict.margin <= 1;
  if (!result.verdict.passed) {
    result.verdict.reason =
        fmt::format("lse: {:.3g}, limit {:.3g} ({})", worst_error, reference.limits[worst],
                    describe_place(reference.tensor, static_cast<std::int64_t>(worst)));
  }
  return result;
}

}  // namespace fatune
