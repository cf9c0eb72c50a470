// host_reference_test.cpp: Checks fp64 attention against values computed by hand.
#include "worker/verify/host_reference.hpp"

#include <cmath>
#include <cstring>
#include <limits>

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>

#include "support/problem_text.hpp"

using namespace fatune;
using Catch::Approx;

namespace {

std::vector<std::byte> f16(const std::vector<float>& values) {
  std::vector<std::byte> bytes(values.size() * 2);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint16_t element = encode(Dtype::kF16, values[i]);
    std::memcpy(bytes.data() + 2 * i, &element, 2);
  }
  return bytes;
}

/// The whole output in fp64, rounded to fp32: what a right device reference gives.
std::vector<float> exact(const Attention& problem, const HostInputs& inputs) {
  std::vector<float> values;
  for (std::int64_t batch = 0; batch < problem.batch; ++batch) {
    for (std::int64_t head = 0; head < problem.heads; ++head) {
      for (std::int64_t row = 0; row < problem.seq_q; ++row) {
        for (const double x : attention_row(problem, inputs, {batch, head, row}).values) {
          values.push_back(static_cast<float>(x));
        }
      }
    }
  }
  return values;
}

double element(const Attention& problem, const std::vector<std::byte>& bytes, std::int64_t at) {
  std::uint16_t bits = 0;
  std::memcpy(&bits, bytes.data() + 2 * at, 2);
  return decode(problem.dtype, bits);
}

/// Compares a row with sums over all keys that `sees` names, without a running maximum.
void check_row_of(const Attention& p, const HostInputs& inputs, const OutputRow& where,
                  bool (*sees)(const OutputRow& where, std::int64_t key)) {
  const std::int64_t dim = p.head_dim, value_dim = p.value_columns();
  const std::int64_t group = p.heads / p.kv_heads;
  const std::int64_t query = ((where.batch * p.heads + where.head) * p.seq_q + where.row) * dim;
  const std::int64_t first_key = (where.batch * p.kv_heads + where.head / group) * p.seq_kv;
  double total = p.sink ? std::exp(element(p, inputs.of("sink"), where.head)) : 0;
  std::vector<double> sums(static_cast<std::size_t>(value_dim));
  for (std::int64_t key = 0; key < p.seq_kv; ++key) {
    if (!sees(where, key)) continue;
    double score = 0;
    for (std::int64_t d = 0; d < dim; ++d)
      score += element(p, inputs.q, query + d) * element(p, inputs.k, (first_key + key) * dim + d);
    score /= std::sqrt(static_cast<double>(dim));
    if (p.softcap) score = *p.softcap * std::tanh(score / *p.softcap);
    if (p.bias) score += element(p, inputs.of("bias"), where.head * p.seq_kv + key);
    const auto distance = static_cast<double>(std::abs(where.row + p.seq_kv - p.seq_q - key));
    if (p.alibi) {
      const auto heads = static_cast<double>(p.heads), head = static_cast<double>(where.head);
      score -= std::exp2(-8 * (head + 1) / heads) * distance;
    }
    const double weight = std::exp(score);
    total += weight;
    for (std::int64_t d = 0; d < value_dim; ++d)
      sums[static_cast<std::size_t>(d)] +=
          weight * element(p, inputs.v, (first_key + key) * value_dim + d);
  }
  const HostRow row = attention_row(p, inputs, where);
  if (total == 0) CHECK(row.lse == -HUGE_VAL);
  if (total > 0) CHECK(row.lse == Approx(std::log(total)).epsilon(1e-6));
  for (std::size_t d = 0; d < sums.size(); ++d)
    CHECK(row.values[d] == Approx(total == 0 ? 0 : sums[d] / total).epsilon(1e-6).margin(1e-7));
}

}  // namespace

TEST_CASE("two keys, worked out by hand") {
  // head_dim 4, so the scale is 1/2: scores 1 and 0, weights e/(e+1) and 1/(e+1).
  const Attention problem{.seq_q = 1, .seq_kv = 2, .head_dim = 4};
  HostInputs inputs;
  inputs.q = f16({1, 1, 0, 0});
  inputs.k = f16({1, 1, 0, 0, 0, 0, 1, 0});
  inputs.v = f16({1, 0, 2, -1, 0, 1, 2, 3});
  const HostRow row = attention_row(problem, inputs, {0, 0, 0});
  const double p = std::exp(1.0) / (std::exp(1.0) + 1);
  CHECK(row.values[0] == Approx(p));
  CHECK(row.values[1] == Approx(1 - p));
  CHECK(row.values[2] == Approx(2));
  CHECK(row.values[3] == Approx(3 - 4 * p));
  CHECK(row.score_magnitude == Approx(1));
  CHECK(row.value_magnitude == Approx(3));
  CHECK(row.lse == Approx(std::log(std::exp(1.0) + 1)));
}

TEST_CASE("optional tensors, beside a plain loop over all keys") {
  struct Case {
    const char* problem;
    bool (*sees)(const OutputRow& where, std::int64_t key);
  };
  // A query has the position row + 2 in the first, and its own row in the second.
  for (const auto& [text, sees] :
       {Case{"2,4(kv 2),7x9,16 f16 causal-window:6+padding:5,8 softcap 3 bias 1,4,1,9 alibi sink",
             [](const OutputRow&where, std::int64_t key) {
               return key <= where.row + 2 && key > where.row + 2 - 6 &&
                      key < (where.batch == 0 ? 5 : 8);
             }},
        Case{"1,2,9,16(v 24) bf16 window:3,2+document:4,0,5 alibi",
             [](const OutputRow&where, std::int64_t key) {
               return key >= where.row - 3 && key <= where.row + 2 && (key < 4) == (where.row < 4);
             }},
        Case{
            "2,3,7x9,16(v 8) f16 padding-left:2,0 sink",
            [](const OutputRow&where, std::int64_t key) { return where.batch == 0 && key > 6; }}}) {
    const Attention problem = test::problem(text);
    const HostInputs inputs = make_inputs(problem, {Distribution::kNormal, 3});
    for (std::int64_t row = 0; row < problem.rows(); ++row) {
      const std::int64_t head = row / problem.seq_q;
      const OutputRow where{head / problem.heads, head % problem.heads, row % problem.seq_q};
      CAPTURE(text, where.batch, where.head, where.row);
      check_row_of(problem, inputs, where, sees);
    }
  }
}

TEST_CASE("a bias far below all scores hides its key, and a row of them sees nothing") {
  Attention problem{.seq_q = 2, .seq_kv = 2, .head_dim = 4};
  problem.bias = *parse_bias("1,1,2,2:f32");
  HostInputs inputs = make_inputs(problem, {});
  const float least = std::numeric_limits<float>::lowest();
  const float biases[] = {least, -1e5f, least, least};
  std::memcpy(inputs.optional.at(0).bytes.data(), biases, sizeof biases);
  std::uint16_t second = 0;
  std::memcpy(&second, inputs.v.data() + 8, 2);
  CHECK(attention_row(problem, inputs, {0, 0, 0}).values[0] == Approx(decode(Dtype::kF16, second)));
  CHECK(attention_row(problem, inputs, {0, 0, 1}).values == std::vector<double>(4, 0.0));
}

TEST_CASE("a scale that was told, worked out by hand") {
  const Attention problem = with_scale({.seq_q = 1, .seq_kv = 2, .head_dim = 4}, 1);
  HostInputs inputs;
  inputs.q = f16({1, 1, 0, 0});
  inputs.k = f16({1, 1, 0, 0, 0, 0, 1, 0});
  inputs.v = f16({1, 0, 2, -1, 0, 1, 2, 3});
  const HostRow row = attention_row(problem, inputs, {0, 0, 0});
  CHECK(row.values[0] == Approx(std::exp(2.0) / (std::exp(2.0) + 1)));
  CHECK(row.lse == Approx(std::log(std::exp(2.0) + 1)));
}

TEST_CASE("the causal mask is aligned bottom-right, and rows that see nothing are zero") {
  const Attention wide{.seq_q = 2, .seq_kv = 4, .head_dim = 16, .mask = Mask::kCausal};
  CHECK(visible_keys(wide, 0, 0).end == 3);
  CHECK(visible_keys(wide, 0, 1).end == 4);
  const Attention tall{.seq_q = 5, .seq_kv = 2, .head_dim = 16, .mask = Mask::kCausal};
  CHECK(visible_keys(tall, 0, 2).end == 0);
  CHECK(visible_keys(tall, 0, 3).end == 1);
  const HostInputs inputs = make_inputs(tall, {});
  for (const double x : attention_row(tall, inputs, {0, 0, 2}).values) CHECK(x == 0);
  CHECK(attention_row(tall, inputs, {0, 0, 2}).lse == -HUGE_VAL);
  // The row that sees one key returns that key's value.
  std::uint16_t first = 0;
  std::memcpy(&first, inputs.v.data(), 2);
  CHECK(attention_row(tall, inputs, {0, 0, 3}).values[0] == Approx(decode(Dtype::kF16, first)));
}

TEST_CASE("query heads share key heads in groups") {
  const Attention problem = test::problem("1,4(kv 2),1,2");
  HostInputs inputs;
  inputs.q = f16(std::vector<float>(8, 1.0f));
  inputs.k = f16({0, 0, 0, 0});
  inputs.v = f16({1, 2, 3, 4});
  CHECK(attention_row(problem, inputs, {0, 1, 0}).values == std::vector<double>{1, 2});
  CHECK(attention_row(problem, inputs, {0, 2, 0}).values == std::vector<double>{3, 4});
}

TEST_CASE("sampled rows are distinct, in range, and hold the corners") {
  const Attention problem{.batch = 2, .heads = 3, .kv_heads = 3, .seq_q = 50, .seq_kv = 50};
  const auto rows = sample_rows(problem, 24, 1);
  CHECK(rows.size() == 24);
  bool last = false;
  for (const OutputRow& row : rows) {
    CHECK((row.batch < 2 && row.head < 3 && row.row < 50));
    last = last || (row.batch == 1 && row.head == 2 && row.row == 49);
  }
  CHECK(last);
  CHECK(sample_rows(Attention{}, 24, 1).size() == 1);
}

TEST_CASE("a right reference passes, a slightly wrong one is an error that says where") {
  Attention problem{.heads = 2, .kv_heads = 1, .seq_q = 40, .seq_kv = 70, .head_dim = 32};
  for (const Mask& mask : {Mask::kNone, Mask::kCausal}) {
    problem.mask = mask;
    const HostInputs inputs = make_inputs(problem, {Distribution::kOutliers, 5});
    std::vector<float> reference = exact(problem, inputs);
    CHECK(validate_reference(problem, inputs, {reference}, 1));
    for (std::size_t i = 39 * 32; i < 40 * 32; ++i)
      reference[i] += 0.01f;  // head 0, last row: always sampled
    const Status status = validate_reference(problem, inputs, {reference}, 1);
    REQUIRE_FALSE(status);
    CHECK(status.error().kind == ErrorKind::kDevice);
    CHECK(status.error().message.find("head 0, row 39") != std::string::npos);
    reference[39 * 32] = std::nanf("");
    CHECK_FALSE(validate_reference(problem, inputs, {reference}, 1));
  }
}

TEST_CASE("a reference's log-sum-exps are checked when the problem wants them") {
  const Attention problem = test::problem("1,2,20x18,32 causal lse");
  const HostInputs inputs = make_inputs(problem, {Distribution::kLargeLogits, 5});
  const std::vector<float> out = exact(problem, inputs);
  std::vector<float> right;
  for (std::int64_t row = 0; row < problem.rows(); ++row) {
    const OutputRow where{0, row / problem.seq_q, row % problem.seq_q};
    right.push_back(static_cast<float>(attention_row(problem, inputs, where).lse));
  }
  CHECK(validate_reference(problem, inputs, {out, right}, 1));
  std::vector<float> wrong = right;
  wrong[19] += 0.01f;  // head 0, last row: always sampled
  const Status status = validate_reference(problem, inputs, {out, wrong}, 1);
  REQUIRE_FALSE(status);
  CHECK(status.error().message.find("head 0, row 19, the log-sum-exp is ") != std::string::npos);
  for (const float nothing : {0.0f, std::nanf("")}) {  // row 0 sees no key
    wrong = right;
    wrong[0] = nothing;
    CHECK_FALSE(validate_reference(problem, inputs, {out, wrong}, 1));
  }
}
