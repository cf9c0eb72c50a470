// tolerance_test.cpp: Checks that correct results pass, and skipped tiles, fp16 sums, zeros and NaN
// fail.
#include "worker/verify/tolerance.hpp"

#include <cmath>
#include <cstring>
#include <set>

#include <catch2/catch_test_macros.hpp>

#include "model/problem/tolerance_rules.hpp"
#include "worker/verify/host_reference.hpp"

using namespace fatune;

namespace {

/// How a made-up kernel computes.
struct Recipe {
  bool round_scores = false, round_probabilities = true;
  bool sums_in_dtype = false;      ///< accumulates the output in the element type
  std::int64_t skipped_keys = 0;   ///< at the end of the sequence
  std::int64_t skip_from_row = 0;  ///< rows before it are right
};

struct Made {
  Attention problem;
  TensorReference reference;
  std::vector<std::byte> low_precision;
  HostInputs inputs;
};

float rounded(Dtype dtype, float x) { return decode(dtype, encode(dtype, x)); }

std::vector<float> decode_all(Dtype dtype, const std::vector<std::byte>& bytes) {
  std::vector<float> values(bytes.size() / 2);
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::uint16_t element = 0;
    std::memcpy(&element, bytes.data() + 2 * i, 2);
    values[i] = decode(dtype, element);
  }
  return values;
}

/// Attention of one head (batch 1, heads 1), in fp32 with the recipe's roundings.
std::vector<float> attend(const Attention& problem, const HostInputs& inputs, const Recipe& recipe,
                          bool reference) {
  const auto q = decode_all(problem.dtype, inputs.q), k = decode_all(problem.dtype, inputs.k),
             v = decode_all(problem.dtype, inputs.v);
  const auto dim = static_cast<std::size_t>(problem.head_dim);
  std::vector<float> out;
  std::vector<float> p(static_cast<std::size_t>(problem.seq_kv));
  for (std::int64_t row = 0; row < problem.seq_q; ++row) {
    std::int64_t keys = visible_keys(problem, 0, row).end;
    if (row >= recipe.skip_from_row) keys = std::max<std::int64_t>(0, keys - recipe.skipped_keys);
    const auto count = static_cast<std::size_t>(keys);
    float largest = -INFINITY, total = 0;
    for (std::size_t j = 0; j < count; ++j) {
      float sum = 0;
      for (std::size_t d = 0; d < dim; ++d)
        sum += q[static_cast<std::size_t>(row) * dim + d] * k[j * dim + d];
      sum /= std::sqrt(static_cast<float>(dim));
      p[j] = !reference && recipe.round_scores ? rounded(problem.dtype, sum) : sum;
      largest = std::max(largest, p[j]);
    }
    for (std::size_t j = 0; j < count; ++j) {
      p[j] = std::exp(p[j] - largest);
      total += p[j];
      if (!reference && recipe.round_probabilities) p[j] = rounded(problem.dtype, p[j]);
    }
    for (std::size_t d = 0; d < dim; ++d) {
      float sum = 0;
      for (std::size_t j = 0; j < count; ++j) {
        sum += p[j] * v[j * dim + d];
        if (recipe.sums_in_dtype) sum = rounded(problem.dtype, sum);
      }
      out.push_back(count == 0 ? 0 : sum / total);
    }
  }
  return out;
}

std::vector<std::byte> encode_all(Dtype dtype, const std::vector<float>& values) {
  std::vector<std::byte> bytes(values.size() * 2);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint16_t element = encode(dtype, values[i]);
    std::memcpy(bytes.data() + 2 * i, &element, 2);
  }
  return bytes;
}

Made make(Attention problem, Distribution distribution = Distribution::kNormal) {
  Made made{problem, {}, {}, make_inputs(problem, {distribution, 11})};
  made.reference = make_out_reference(problem, attend(problem, made.inputs, {}, true));
  made.low_precision =
      encode_all(problem.dtype, attend(problem, made.inputs, {.round_scores = true}, false));
  made.reference.limits = attention_limits(
      made.reference, compare(made.reference, made.low_precision), distribution, problem);
  return made;
}

Judgement judge_bytes(const Made& made, const std::vector<std::byte>& out) {
  return judge(made.reference, compare(made.reference, out));
}

Judgement judge_recipe(const Made& made, const Recipe& recipe) {
  return judge_bytes(
      made, encode_all(made.problem.dtype, attend(made.problem, made.inputs, recipe, false)));
}

}  // namespace

TEST_CASE("right kernels pass, with room, in every distribution") {
  for (const Dtype dtype : {Dtype::kF16, Dtype::kBf16}) {
    for (const auto distribution :
         {Distribution::kNormal, Distribution::kUniform, Distribution::kOutliers,
          Distribution::kLargeLogits, Distribution::kZeros, Distribution::kOnesV,
          Distribution::kZeroQ, Distribution::kLastKey}) {
      const Made made =
          make({.seq_q = 130, .seq_kv = 257, .head_dim = 32, .dtype = dtype}, distribution);
      const Judgement rounding = judge_recipe(made, {});
      CHECK(rounding.passed);
      CHECK(rounding.margin < 0.9);
      CHECK(judge_recipe(made, {.round_probabilities = false}).passed);
    }
  }
}

TEST_CASE("where single keys decide, rounding of weights explains an error of its own element") {
  Attention problem{.seq_q = 64, .seq_kv = 64, .head_dim = 16, .dtype = Dtype::kE4m3};
  problem.out_dtype = Dtype::kBf16;
  CHECK(bounds_rounding(problem, Distribution::kOutliers));
  CHECK(bounds_rounding(problem, Distribution::kLargeLogits));
  CHECK_FALSE(bounds_rounding(problem, Distribution::kNormal));
  CHECK(bounds_rounding(Attention{.dtype = Dtype::kF16}, Distribution::kOutliers));
  std::vector<float> values(static_cast<std::size_t>(problem.query_elements()), 1.0f);
  values[5] = 16;
  TensorReference reference = make_out_reference(problem, values);
  reference.rounding = rounding_of(problem, values);
  CHECK(reference.rounding[5] == 16 * (0.0625f + 0.00390625f));
  reference.limits.max_abs = 0.2;
  reference.limits.mean_abs = 1;
  const auto judged = [&](std::size_t at, float error) {
    std::vector<float> out = values;
    out[at] += error;
    const Comparison comparison = compare(reference, encode_all(Dtype::kBf16, out));
    CHECK(comparison.max_abs == error);
    return judge(reference, comparison);
  };
  CHECK(judged(5, 1.0f).margin < 0.01);
  CHECK(judged(5, 1.25f).margin == 1.25 / 0.2);
  CHECK(judged(6, 0.125f).passed);
  const Judgement elsewhere = judged(6, 0.25f);
  CHECK_FALSE(elsewhere.passed);
  CHECK(elsewhere.reason.find("max: 0.25, limit 0.2") != std::string::npos);
}

TEST_CASE(
    "rounding explains what fa_mma_fp8 was off by at 8192 tokens, and no linear exponentials") {
  const auto explained_at = [](const char* shape, const OutputRow& where, std::size_t column) {
    Attention problem = *parse_shape(shape);
    problem.dtype = Dtype::kE4m3;
    problem.out_dtype = Dtype::kBf16;
    const HostInputs inputs =
        with_magnitudes_of_v(make_inputs(problem, {Distribution::kOutliers, 42}));
    const auto magnitude = static_cast<float>(attention_row(problem, inputs, where).values[column]);
    return rounding_of(problem, {magnitude}).front();
  };
  CHECK(explained_at("1,8,8192,64", {0, 2, 4705}, 36) > 1.21f);  // results/h200/suite-fp8
  const float linear = explained_at("1,8,8192,64", {0, 1, 5579}, 42);
  CHECK(linear > 0.96f);
  CHECK(linear < 0.98f);
  const float shorter = explained_at("1,8,4096,64", {0, 2, 3516}, 42);
  CHECK(shorter > 1.055f);
  CHECK(shorter < 1.065f);
}

TEST_CASE("with values of 1, weights that do not sum to 1 are caught") {
  const Made made = make({.seq_q = 70, .seq_kv = 90, .head_dim = 16}, Distribution::kOnesV);
  const std::vector<float> ones(made.reference.values.size(), 1.0f);
  CHECK(judge_bytes(made, encode_all(Dtype::kF16, ones)).margin == 0);
  const std::vector<float> nearly(ones.size(), 1.0f + 3.0f / 1024);
  const Judgement verdict = judge_bytes(made, encode_all(Dtype::kF16, nearly));
  CHECK_FALSE(verdict.passed);
  CHECK(verdict.margin == 1.5);  // 3 units in the last place, 2 allowed
}

TEST_CASE("a last key that is large shows a row that sees it wrongly, or does not see it") {
  const Made made = make({.seq_q = 300, .seq_kv = 300, .head_dim = 16, .mask = Mask::kCausal},
                         Distribution::kLastKey);
  CHECK(judge_recipe(made, {}).passed);
  CHECK(judge_recipe(made, {.skipped_keys = 1, .skip_from_row = 299}).margin > 10);
}

TEST_CASE("short and ragged sequences pass, too") {
  for (const std::int64_t seq : {1, 2, 17, 63, 65}) {
    for (const Mask& mask : {Mask::kNone, Mask::kCausal}) {
      const Made made = make({.seq_q = seq, .seq_kv = seq, .head_dim = 64, .mask = mask});
      CHECK(judge_recipe(made, {}).passed);
    }
  }
}

TEST_CASE("a skipped last tile at 4096 keys is caught") {
  const Made made = make({.seq_q = 64, .seq_kv = 4096, .head_dim = 32});
  const Judgement verdict = judge_recipe(made, {.skipped_keys = 64});
  CHECK_FALSE(verdict.passed);
  CHECK(verdict.margin > 2);
}

TEST_CASE("a skipped tile in one block of rows is caught by that block") {
  const Made made = make({.seq_q = 512, .seq_kv = 2048, .head_dim = 32});
  const Judgement verdict = judge_recipe(made, {.skipped_keys = 8, .skip_from_row = 448});
  CHECK_FALSE(verdict.passed);
  CHECK(verdict.reason.find("batch 0, head 0, row 4") != std::string::npos);
  const auto out = encode_all(
      Dtype::kF16,
      attend(made.problem, made.inputs, {.skipped_keys = 8, .skip_from_row = 448}, false));
  const Comparison comparison = compare(made.reference, out);
  CHECK(comparison.worst_block == 7);
  CHECK(comparison.worst_block_l2 > 2 * comparison.relative_l2);
}

TEST_CASE("sums kept in fp16 are caught") {
  const Made made = make({.seq_q = 64, .seq_kv = 4096, .head_dim = 32});
  CHECK_FALSE(judge_recipe(made, {.sums_in_dtype = true}).passed);
}

TEST_CASE("an output of zeros is caught at 16384 keys, where allclose(1e-2) would nearly pass it") {
  const Made made = make({.seq_q = 64, .seq_kv = 16384, .head_dim = 16});
  const Judgement verdict = judge_bytes(made, std::vector<std::byte>(made.low_precision.size()));
  CHECK_FALSE(verdict.passed);
  CHECK(verdict.margin > 100);
  CHECK(vacuity_margin(made.reference) > kLeastVacuity);
}

TEST_CASE("a mask that is off by one is caught") {
  const Made made = make({.seq_q = 300, .seq_kv = 300, .head_dim = 32, .mask = Mask::kCausal});
  CHECK_FALSE(judge_recipe(made, {.skipped_keys = 1}).passed);
}

TEST_CASE("NaN, infinity and rows that should be zero are named") {
  const Made made = make({.seq_q = 70, .seq_kv = 40, .head_dim = 16, .mask = Mask::kCausal});
  CHECK(judge_bytes(made, made.low_precision).passed);
  auto out = made.low_precision;
  const std::uint16_t infinity = 0x7c00, one = 0x3c00;
  std::memcpy(out.data() + 2 * (69 * 16 + 3), &infinity, 2);
  Judgement verdict = judge_bytes(made, out);
  CHECK_FALSE(verdict.passed);
  CHECK(verdict.worst_rule == "finite");
  CHECK(verdict.reason.find("row 69, column 3") != std::string::npos);
  CHECK(verdict.margin == kWorstMargin);
  out = made.low_precision;
  std::memcpy(out.data() + 2 * (29 * 16), &one, 2);  // 30 rows see nothing
  verdict = judge_bytes(made, out);
  CHECK(verdict.worst_rule == "masked_rows");
  CHECK(verdict.reason.find("row 29") != std::string::npos);
}

TEST_CASE("comparison figures are right for known errors") {
  const Attention problem{
      .batch = 1, .heads = 2, .kv_heads = 2, .seq_q = 65, .seq_kv = 65, .head_dim = 16};
  std::vector<float> ones(static_cast<std::size_t>(problem.query_elements()), 1.0f);
  const TensorReference reference = make_out_reference(problem, ones);
  CHECK(reference.block_squares.size() == 4);
  CHECK(reference.largest == 1);
  ones[(65 + 64) * 16 + 2] = 1.5f;  // head 1, last row: a block of its own
  const Comparison c = compare(reference, encode_all(Dtype::kF16, ones));
  CHECK(c.max_abs == 0.5);
  CHECK(describe_place(reference.tensor, c.worst) == "batch 0, head 1, row 64, column 2");
  CHECK(c.worst_head == 1);
  CHECK(c.worst_block == 3);
  CHECK(std::abs(c.worst_block_l2 - 0.5 / 4) < 1e-12);
  CHECK(std::abs(c.mean_abs - 0.5 / (2 * 65 * 16)) < 1e-12);
  CHECK_FALSE(c.allclose_1e3);
}

TEST_CASE("every rule says what it demands and why") {
  std::set<std::string_view> names;
  for (const ToleranceRule& rule : tolerance_rules()) {
    CHECK_FALSE(rule.statement.empty());
    CHECK(rule.why.size() > 30);
    names.insert(rule.name);
  }
  CHECK(names.size() == tolerance_rules().size());
}

TEST_CASE("fp8 is held to the values before quantization, too") {
  Made made = make({.seq_q = 70, .seq_kv = 90, .head_dim = 16});
  made.reference.unquantized = made.reference.values;
  made.reference.limits.method_l2 = tolerance_factors(Dtype::kE4m3).method_l2;
  CHECK(judge_bytes(made, made.low_precision).passed);
  for (float& value : made.reference.unquantized) value *= 1.07f;
  const Judgement far = judge_bytes(made, made.low_precision);
  CHECK_FALSE(far.passed);
  CHECK(far.worst_rule == "method");
  CHECK(far.reason.starts_with("method: 0.0654, limit 0.06"));
}

TEST_CASE("limits of fp8 are those of its arithmetic, steps those of out") {
  Made made = make({.seq_q = 70, .seq_kv = 90, .head_dim = 16});
  const Comparison low_precision = compare(made.reference, made.low_precision);
  const Limits plain = attention_limits(made.reference, low_precision, Distribution::kNormal, {});
  Attention problem{.dtype = Dtype::kE4m3, .out_dtype = Dtype::kF16};
  const Limits fp8 =
      attention_limits(made.reference, low_precision, Distribution::kNormal, problem);
  CHECK_FALSE(plain.method_l2);
  CHECK(fp8.method_l2 == 6e-2);
  CHECK(fp8.relative_l2 == std::max(2e-3, 1.5 * low_precision.relative_l2));
  CHECK(std::abs(fp8.max_abs - plain.max_abs - 2 * low_precision.max_abs) < 1e-12);
  CHECK_FALSE(
      attention_limits(made.reference, low_precision, Distribution::kUniform, problem).method_l2);
  problem.quant = Quant::kFused;  // out is compared with the values of the inputs as they came
  const Limits fused =
      attention_limits(made.reference, low_precision, Distribution::kNormal, problem);
  CHECK_FALSE(fused.method_l2);
  CHECK(fused.relative_l2 == 6e-2);
  CHECK(attention_limits(made.reference, low_precision, Distribution::kUniform, problem)
            .relative_l2 == fp8.relative_l2);
}
