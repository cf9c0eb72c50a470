// host_reference.cpp: Computes rows of attention in fp64, and limits of log-sum-exps.
#include "worker/verify/host_reference.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "core/parallel.hpp"
#include "model/problem/rule_keys.hpp"

namespace fatune {
namespace {

// Chosen: a row with 16384 keys takes a few milliseconds on one core.
constexpr std::size_t kSampledRows = 24;
constexpr std::int64_t kKeyElementsOfAThread = 64 * 1024;  // chosen: some 100 us of work
constexpr double kFp32Step = 0x1p-24;                      // relative rounding of fp32
constexpr double kNothing = -std::numeric_limits<double>::infinity();  // log-sum-exp of no key

/// Elements `first` to `first + count` of a tensor as doubles.
template <typename Element>
void decode_line(std::span<const std::byte> tensor, std::span<const float> table,
                 std::int64_t first, std::span<double> line) {
  const Element* elements = reinterpret_cast<const Element*>(tensor.data()) + first;
  for (std::size_t i = 0; i < line.size(); ++i) line[i] = table[elements[i]];
}

void decode_line(std::span<const std::byte> tensor, Dtype dtype, std::int64_t first,
                 std::span<double> line) {
  if (size_of(dtype) == 1) {
    decode_line<std::uint8_t>(tensor, decode_table(dtype), first, line);
  } else {
    decode_line<std::uint16_t>(tensor, decode_table(dtype), first, line);
  }
}

/// The factor of a row of q, k or v, counted over heads and batch. 1 if elements are the values.
double descale(const Attention& problem, std::string_view tensor,
               const std::vector<float>& descales, std::int64_t row) {
  if (descales.empty()) return 1.0;
  const TensorSizes sizes = sizes_of(problem, tensor);
  return descales[static_cast<std::size_t>(row / sizes.rows / (sizes.heads / problem.kv_heads))];
}

/// The error that fp32 may cause. The rounding of a score (8 steps of its magnitude, and of the
/// exponential) scales each probability. The sum over values rounds at each key. These errors add
/// up as a random walk of at most 4 standard deviations (1e-5 for values of one sign over 131072
/// keys). A wrong formula is off by orders of magnitude more.
double fp32_limit(const Attention& problem, const HostRow& row) {
  const double walk = 4 * std::sqrt(static_cast<double>(problem.seq_kv));
  return kFp32Step * (8 * (8 + row.score_magnitude) + walk) * row.value_magnitude;
}

/// The largest error that fp32 may cause in a log-sum-exp. Every addition of a score rounds, so do
/// the exponentials and the logarithm, and each lane of a warp adds up its part of the keys.
double fp32_lse_limit(const Attention& problem, const HostRow& row) {
  const double sum = static_cast<double>(problem.seq_kv) / 32;
  const double score = static_cast<double>(problem.head_dim + 8) * row.score_magnitude;
  return kFp32Step * (score + sum + 16 + 2 * std::abs(row.lse));
}

Error wrong_reference(const OutputRow& where, const std::string& what, double got, double want,
                      double limit) {
  return device_error(
      fmt::format("the reference kernel is wrong: batch {}, head {}, row {}, {} is {:.6g}, fp64 on "
                  "the host gives {:.6g} (limit {:.6g}); nothing can be checked against it",
                  where.batch, where.head, where.row, what, got, want, limit));
}

Status check_row(const Attention& problem, const OutputRow& where, const HostRow& expected,
                 const ReferenceValues& reference) {
  const std::int64_t row = (where.batch * problem.heads + where.head) * problem.seq_q + where.row;
  const double limit = fp32_limit(problem, expected);
  const std::int64_t columns = problem.value_columns();
  for (std::int64_t d = 0; d < columns; ++d) {
    const double got = reference.out[static_cast<std::size_t>(row * columns + d)];
    const double want = expected.values[static_cast<std::size_t>(d)];
    if (std::abs(got - want) <= limit) continue;  // false for NaN
    return wrong_reference(where, fmt::format("column {}", d), got, want, limit);
  }
  if (!problem.lse) return {};
  const double lse = reference.lse[static_cast<std::size_t>(row)];
  const double lse_limit = expected.lse == kNothing ? 0 : fp32_lse_limit(problem, expected);
  if (lse == expected.lse || std::abs(lse - expected.lse) <= lse_limit) return {};
  return wrong_reference(where, "the log-sum-exp", lse, expected.lse, lse_limit);
}

constexpr std::size_t kRowsOfAThread = 1024;  // chosen: some 100 us of work
/// An addition may truncate, as tensor cores do (2^-23 of the magnitude). Doubled for the
/// reference's own sums.
constexpr double kScoreStep = 0x1p-22;
constexpr double kScoreRoundings = 8;  ///< besides products: scale, exponent, peak, logarithm
constexpr double kKeyStep = 0x1p-24;   ///< rounding of a sum of positive fp32 numbers

/// The length of each row of q or k times its factor.
std::vector<double> norms_of(const Attention& problem, std::string_view name,
                             std::span<const std::byte> tensor,
                             const std::vector<float>& descales) {
  const auto columns = static_cast<std::size_t>(problem.head_dim);
  const Dtype dtype = dtype_of(problem, "q");
  std::vector<double> norms(tensor.size() / static_cast<std::size_t>(size_of(dtype)) / columns);
  parallel_for(norms.size(), kRowsOfAThread, [&](std::size_t begin, std::size_t end) {
    std::vector<double> line(columns);
    for (std::size_t row = begin; row < end; ++row) {
      decode_line(tensor, dtype, static_cast<std::int64_t>(row * columns), line);
      norms[row] = std::sqrt(std::inner_product(line.begin(), line.end(), line.begin(), 0.0)) *
                   descale(problem, name, descales, static_cast<std::int64_t>(row));
    }
  });
  return norms;
}

/// Counts rows that break a rule which has no margin, and keeps the first.
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

/// Returns the number that the bias adds to a score.
static double bias_at(const Attention& problem, const HostInputs& inputs, const OutputRow& where,
                      std::int64_t key) {
  const Bias& bias = *problem.bias;
  const std::int64_t row = bias.shape[2] == 1 ? 0 : where.row;
  const std::int64_t head =
      where.batch % bias.shape[0] * bias.shape[1] + where.head % bias.shape[1];
  const auto at = static_cast<std::size_t>((head * bias.shape[2] + row) * bias.shape[3] + key);
  const std::vector<std::byte>& bytes = inputs.of("bias");
  if (bias.type == BiasType::kBool) return bytes[at] == std::byte{0} ? kNothing : 0;
  const double value = bias.type == BiasType::kF32
                           ? static_cast<double>(elements<float>(bytes)[at])
                           : decode(problem.dtype, elements<std::uint16_t>(bytes)[at]);
  return value < kHidingBias ? kNothing : value;
}

/// Returns what the slope of the head takes from a score.
static double slope_at(const Attention& problem, const HostInputs& inputs, const OutputRow& where,
                       std::int64_t key) {
  const double slope = elements<float>(inputs.of("alibi"))[static_cast<std::size_t>(where.head)];
  const std::int64_t position = where.row + problem.seq_kv - problem.seq_q;
  return slope * static_cast<double>(std::abs(position - key));
}

/// Returns the logarithm of the term without a value.
static double sink_of(const Attention& problem, const HostInputs& inputs, std::int64_t head) {
  if (!problem.sink) return kNothing;
  return decode(problem.dtype,
                elements<std::uint16_t>(inputs.of("sink"))[static_cast<std::size_t>(head)]);
}

/// Applies the expressions of scores and mask to the keys of a range.
static void change_scores(const Attention& problem, const HostInputs& inputs,
                          const OutputRow& where, const KeyRange& seen,
                          std::vector<double>& scores) {
  if (scores.empty()) return;
  if (!problem.score.empty()) {
    const Pairs row = {{where.batch, where.batch},
                       {where.head, where.head},
                       {where.row, where.row},
                       {seen.begin, seen.end - 1}};
    const auto floats = [&](std::string_view name) {
      return elements<float>(inputs.of(argument_of(*find_tensor(problem, name))));
    };
    PairRule::of(problem.score, RuleKind::kScore, problem.tensors)
        .evaluate(problem, row, scores, floats);
  }
  const std::vector<double> shown =
      VisibleKeys(problem).shown(where.batch, where.head, where.row, seen);
  for (std::size_t key = 0; key < scores.size(); ++key) {
    const bool hidden = scores[key] < kHidingBias || shown[key] == 0;
    if (hidden) scores[key] = kNothing;
  }
}

HostRow attention_row(const Attention& problem, const HostInputs& inputs, const OutputRow& where) {
  const std::int64_t dim = problem.head_dim, value_dim = problem.value_columns();
  const Dtype dtype = dtype_of(problem, "q");
  const std::int64_t kv_head = where.head / (problem.heads / problem.kv_heads);
  const std::int64_t query_row =
      (where.batch * problem.heads + where.head) * problem.seq_q + where.row;
  const KeyRange seen = visible_keys(problem, where.batch, where.row);
  const std::int64_t first_key =
      (where.batch * problem.kv_heads + kv_head) * problem.seq_kv + seen.begin;
  const double of_query = descale(problem, "q", inputs.q_descale, query_row);
  const double of_scores = scale_of(problem);
  const auto columns = static_cast<std::size_t>(dim);
  HostRow result{std::vector<double>(static_cast<std::size_t>(value_dim), 0.0), 0, 0, kNothing};
  std::vector<double> query(columns), line(columns);
  decode_line(inputs.q, dtype, query_row * dim, query);

  std::vector<double> scores(static_cast<std::size_t>(seen.count()));
  for (std::size_t key = 0; key < scores.size(); ++key) {
    const std::int64_t row = first_key + static_cast<std::int64_t>(key);
    decode_line(inputs.k, dtype, row * dim, line);
    const double scale = of_query * descale(problem, "k", inputs.k_descale, row) * of_scores;
    double sum = 0, magnitude = 0;
    for (std::size_t d = 0; d < columns; ++d) {
      const double product = query[d] * line[d];
      sum += product;
      magnitude += std::abs(product);
    }
    scores[key] = sum * scale;
    if (const auto cap = problem.softcap) scores[key] = *cap * std::tanh(scores[key] / *cap);
    const std::int64_t at = seen.begin + static_cast<std::int64_t>(key);
    if (problem.bias) scores[key] += bias_at(problem, inputs, where, at);
    if (problem.alibi) scores[key] -= slope_at(problem, inputs, where, at);
    result.score_magnitude = std::max(result.score_magnitude, magnitude * scale);
  }
  change_scores(problem, inputs, where, seen, scores);
  const double sink = sink_of(problem, inputs, where.head);
  const double peak = scores.empty() ? kNothing : *std::ranges::max_element(scores);
  const double largest = std::max(peak, sink);  // NaN stays
  if (largest == kNothing) return result;
  if (problem.alibi || !problem.score.empty())
    result.score_magnitude = std::max(result.score_magnitude, std::abs(largest));
  double total = std::exp(sink - largest);
  for (double& score : scores) {
    score = std::exp(score - largest);
    total += score;
  }
  result.lse = largest + std::log(total);
  std::vector<double> value(result.values.size());
  for (std::size_t key = 0; key < scores.size(); ++key) {
    const std::int64_t row = first_key + static_cast<std::int64_t>(key);
    decode_line(inputs.v, dtype, row * value_dim, value);
    const double of_values = descale(problem, "v", inputs.v_descale, row);
    const double weight = scores[key] / total * of_values;
    for (std::size_t d = 0; d < value.size(); ++d) {
      result.values[d] += weight * value[d];
      result.value_magnitude = std::max(result.value_magnitude, std::abs(value[d]) * of_values);
    }
  }
  return result;
}

std::vector<OutputRow> sample_rows(const Attention& problem, std::size_t most, std::uint64_t seed) {
  std::set<std::tuple<std::int64_t, std::int64_t, std::int64_t>> taken;
  std::vector<OutputRow> rows;
  const auto take = [&](const OutputRow& row) {
    if (rows.size() < most && taken.emplace(row.batch, row.head, row.row).second)
      rows.push_back(row);
  };
  for (const std::int64_t row : {std::int64_t{0}, problem.seq_q - 1}) {
    take({0, 0, row});
    take({problem.batch - 1, problem.heads - 1, row});
  }
  const auto pick = [&](std::uint64_t position, std::int64_t below) {
    return static_cast<std::int64_t>(random_bits(seed, 64, position) %
                                     static_cast<std::uint64_t>(below));
  };
  for (std::uint64_t attempt = 0; attempt < 4 * most; ++attempt) {
    take({pick(3 * attempt, problem.batch), pick(3 * attempt + 1, problem.heads),
          pick(3 * attempt + 2, problem.seq_q)});
  }
  return rows;
}

Status validate_reference(const Attention& problem, const HostInputs& inputs,
                          const ReferenceValues& reference, std::uint64_t seed) {
  const std::vector<OutputRow> sampled = sample_rows(problem, kSampledRows, seed);
  std::vector<HostRow> rows(sampled.size());
  const std::int64_t work = problem.seq_kv * problem.head_dim;
  const auto least = static_cast<std::size_t>(kKeyElementsOfAThread / work + 1);
  parallel_for(rows.size(), least, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) rows[i] = attention_row(problem, inputs, sampled[i]);
  });
  for (std::size_t i = 0; i < rows.size(); ++i)
    FATUNE_TRY_STATUS(check_row(problem, sampled[i], rows[i], reference));
  return {};
}

LseReference make_lse_reference(const Attention& problem, const HostInputs& inputs,
                                std::vector<float> values) {
  FATUNE_CHECK(static_cast<std::int64_t>(values.size()) == problem.rows(), "one value a row");
  LseReference reference{attention_plan(problem).tensors.back(), std::move(values), {}};
  const std::vector<double> queries = norms_of(problem, "q", inputs.q, inputs.q_descale);
  const std::vector<double> keys = norms_of(problem, "k", inputs.k, inputs.k_descale);
  const std::int64_t group = problem.heads / problem.kv_heads;
  const auto dim = static_cast<double>(problem.head_dim);
  const double step = kScoreStep * (dim + kScoreRoundings) * scale_of(problem);
  // The step is of the element type of the weights that are multiplied with the values.
  const double weight_rounding = step_at_one(problem.dtype) / 2;
  reference.limits.reserve(queries.size());
  for (std::int64_t head = 0; head < problem.batch * problem.heads; ++head) {
    const auto first_key = keys.begin() + head / group * problem.seq_kv;
    const double longest_key = *std::max_element(first_key, first_key + problem.seq_kv);
    for (std::int64_t row = 0; row < problem.seq_q; ++row) {
      const double query = queries[static_cast<std::size_t>(head * problem.seq_q + row)];
      const KeyRange seen = visible_keys(problem, head / problem.heads, row);
      double limit = step * query * longest_key + kKeyStep * static_cast<double>(seen.count()) +
                     weight_rounding;
      if (problem.alibi || problem.sink)
        limit += kScoreStep * kScoreRoundings *
                 std::abs(reference.values[static_cast<std::size_t>(head * problem.seq_q + row)]);
      reference.limits.push_back(static_cast<float>(limit));
    }
  }
  return reference;
}

void leave_out(LseReference& reference, const LostOutputs& lost) {
  const std::int64_t rows = reference.tensor.shape.back();
  for (std::size_t row = 0; row < reference.values.size(); ++row) {
    if (lost.has(static_cast<std::int64_t>(row) / rows))
      reference.values[row] = std::numeric_limits<float>::quiet_NaN();
  }
}

void allow_quantizing(LseReference& reference, std::span<const std::byte> low_precision) {
  constexpr float kLseFactor = 4;  // chosen, as for single outputs
  FATUNE_CHECK(low_precision.size() == reference.values.size() * sizeof(float), "one value a row");
  float largest = 0;
  for (std::size_t row = 0; row < reference.values.size(); ++row) {
    float value = 0;
    std::memcpy(&value, low_precision.data() + row * sizeof value, sizeof value);
    if (std::isfinite(reference.values[row]))
      largest = std::max(largest, std::abs(value - reference.values[row]));
  }
  for (float& limit : reference.limits) limit += kLseFactor * largest;
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
    if (std::isnan(reference.values[row])) continue;
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

const Judgement& Judged::worst() const {
  if (!lse || !verdict.passed) return verdict;
  return lse->verdict.margin > verdict.margin ? lse->verdict : verdict;
}

}  // namespace fatune
