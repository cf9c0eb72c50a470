// lse_test.cpp: Checks log-sum-exps: correct, nearly correct, of another base, and of no key.

#include <cmath>
#include <cstring>
#include <limits>
#include <numbers>

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>

#include "support/problem_text.hpp"
#include "worker/verify/host_reference.hpp"

using namespace fatune;
using Catch::Approx;

namespace {

constexpr float kNothing = -std::numeric_limits<float>::infinity();

/// Causal with more queries than keys: the first three rows of each head see nothing.
Attention tall() { return test::problem("2,4(kv 2),40x37,32 causal lse"); }

/// In fp64, rounded to fp32: what a right kernel gives.
std::vector<float> exact_lse(const Attention& problem, const HostInputs& inputs) {
  std::vector<float> values;
  for (std::int64_t row = 0; row < problem.rows(); ++row) {
    const std::int64_t head = row / problem.seq_q;
    const OutputRow where{head / problem.heads, head % problem.heads, row % problem.seq_q};
    values.push_back(static_cast<float>(attention_row(problem, inputs, where).lse));
  }
  return values;
}

std::span<const std::byte> bytes(const std::vector<float>& values) {
  return std::as_bytes(std::span(values));
}

}  // namespace

TEST_CASE("the same log-sum-exps pass with a margin of zero") {
  const Attention problem = tall();
  const HostInputs inputs = make_inputs(problem, {});
  const std::vector<float> values = exact_lse(problem, inputs);
  CHECK(values[2] == kNothing);
  CHECK(std::isfinite(values[3]));
  const LseReference reference = make_lse_reference(problem, inputs, values);
  const LseJudgement judged = judge_lse(reference, bytes(values));
  CHECK(judged.verdict.passed);
  CHECK(judged.verdict.margin == 0);
  CHECK(judged.verdict.worst_rule == "lse");
  CHECK(judged.verdict.reason.empty());
  CHECK(judged.max_abs == 0);
}

TEST_CASE("the limit is that of the row, worked out by hand") {
  Attention problem{.seq_q = 1, .seq_kv = 2, .head_dim = 4, .lse = true};
  HostInputs inputs;
  const auto element = [](float value) { return encode(Dtype::kF16, value); };
  const std::uint16_t q[] = {element(3), element(4), 0, 0};
  const std::uint16_t k[] = {element(1), 0, 0, 0, 0, 0, element(2), 0};
  const auto put = [](std::span<const std::uint16_t> from) {
    const auto raw = std::as_bytes(from);
    return std::vector<std::byte>(raw.begin(), raw.end());
  };
  inputs.q = put(q);
  inputs.k = put(k);
  // |q| is 5, the longest key 2, the scale 1/2, and two keys are seen.
  LseReference reference = make_lse_reference(problem, inputs, {1.0f});
  CHECK(reference.limits.front() == Approx(0x1p-22 * 12 * 5 + 2 * 0x1p-24 + 0x1p-11));
  problem.dtype = Dtype::kBf16;
  reference = make_lse_reference(problem, inputs, {1.0f});
  CHECK(reference.limits.front() > 0x1p-8);
}

TEST_CASE("an error is judged by its row's limit") {
  const Attention problem = tall();
  const HostInputs inputs = make_inputs(problem, {Distribution::kOutliers, 3});
  const std::vector<float> right = exact_lse(problem, inputs);
  const LseReference reference = make_lse_reference(problem, inputs, right);
  const std::size_t row = (1 * 4 + 3) * 40 + 11;
  std::vector<float> values = right;
  values[row] += 0.5f * reference.limits[row];
  LseJudgement judged = judge_lse(reference, bytes(values));
  CHECK(judged.verdict.passed);
  CHECK(judged.verdict.margin == Approx(0.5).epsilon(0.01));
  CHECK(judged.max_abs == Approx(0.5 * reference.limits[row]).epsilon(0.01));

  values[row] = right[row] + 3 * reference.limits[row];
  judged = judge_lse(reference, bytes(values));
  CHECK_FALSE(judged.verdict.passed);
  CHECK(judged.verdict.margin == Approx(3).epsilon(0.01));
  CHECK(judged.verdict.reason.starts_with("lse: "));
  CHECK(judged.verdict.reason.find("(batch 1, head 3, row 11)") != std::string::npos);
}

TEST_CASE("another base, a missing key or a missing scale is far beyond the limit") {
  const Attention problem = test::problem("1,2,8x512,64 bf16 lse");
  const HostInputs inputs = make_inputs(problem, {});
  const std::vector<float> right = exact_lse(problem, inputs);
  const LseReference reference = make_lse_reference(problem, inputs, right);
  std::vector<float> values = right;
  for (float& value : values) value *= std::numbers::log2e_v<float>;
  CHECK(judge_lse(reference, bytes(values)).verdict.margin > 100);
  values = right;
  for (float& value : values) value -= std::log(512.0f / 480.0f);  // a tile of 32 keys left out
  CHECK(judge_lse(reference, bytes(values)).verdict.margin > 10);
  CHECK(judge_lse(reference, bytes(std::vector<float>(right.size(), 0.0f))).verdict.margin > 100);
}

TEST_CASE("rows that see no key are -inf exactly, all others finite") {
  const Attention problem = tall();
  const HostInputs inputs = make_inputs(problem, {});
  const std::vector<float> right = exact_lse(problem, inputs);
  const LseReference reference = make_lse_reference(problem, inputs, right);
  std::vector<float> values = right;
  for (const float wrong : {0.0f, -1e30f, std::nanf("")}) {
    values[41] = wrong;  // batch 0, head 1, row 1
    const LseJudgement judged = judge_lse(reference, bytes(values));
    CHECK_FALSE(judged.verdict.passed);
    CHECK(judged.verdict.margin == kWorstMargin);
    CHECK(judged.verdict.reason ==
          "lse: 1 of 320 log-sum-exps are not -inf though no key is seen, first at batch 0, head "
          "1, row 1");
  }
  values = right;
  values[44] = values[45] = std::nanf("");
  values[46] = kNothing;
  const LseJudgement judged = judge_lse(reference, bytes(values));
  CHECK(judged.verdict.margin == kWorstMargin);
  CHECK(judged.verdict.reason ==
        "lse: 3 of 320 log-sum-exps are NaN or infinite, first at batch 0, head 1, row 4");
}

TEST_CASE("keys that all weigh the same sum to the log of their number") {
  const Attention problem{.seq_q = 3, .seq_kv = 1000, .head_dim = 16, .lse = true};
  const HostInputs inputs = make_inputs(problem, {Distribution::kZeroQ, 1});
  const LseReference reference =
      make_lse_reference(problem, inputs, std::vector<float>(3, std::log(1000.0f)));
  CHECK(judge_lse(reference, bytes(exact_lse(problem, inputs))).verdict.passed);
  // No score, hence no rounding of scores: what is left is the sum's and the weights'.
  CHECK(reference.limits.front() == Approx(1000 * 0x1p-24 + 0x1p-11));
}
