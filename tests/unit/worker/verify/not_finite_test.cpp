// not_finite_test.cpp: Checks outputs that must not be finite, and the judgement of the other
// outputs.
#include "worker/verify/not_finite.hpp"

#include <cmath>
#include <limits>

#include <catch2/catch_test_macros.hpp>

#include "worker/verify/host_reference.hpp"

using namespace fatune;

namespace {

/// Four key heads of two query heads each, the last of which keeps its numbers; causal, so that two
/// rows see nothing.
Attention fused() {
  return {.batch = 2,
          .heads = 4,
          .kv_heads = 2,
          .seq_q = 10,
          .seq_kv = 8,
          .head_dim = 16,
          .dtype = Dtype::kE4m3,
          .mask = Mask::kCausal,
          .lse = true,
          .out_dtype = Dtype::kBf16,
          .quant = Quant::kFused};
}

constexpr InputCase kCase{Distribution::kNotFinite, 42};

/// Attention in fp64 of the inputs as they are, as a kernel of 16 bits would write it.
std::vector<std::byte> exact_output(const Attention& problem) {
  const HostInputs inputs = make_inputs(problem, kCase);
  std::vector<std::uint16_t> out;
  for (std::int64_t row = 0; row < problem.rows(); ++row) {
    const std::int64_t head = row / problem.seq_q;
    const OutputRow where{head / problem.heads, head % problem.heads, row % problem.seq_q};
    for (const double value : attention_row(problem, inputs, where).values)
      out.push_back(encode(Dtype::kBf16, static_cast<float>(value)));
  }
  const auto bytes = std::as_bytes(std::span(out));
  return {bytes.begin(), bytes.end()};
}

TensorReference reference_of(const Attention& problem) {
  const HostInputs inputs = make_inputs(problem, before_spoiling(kCase));
  std::vector<float> values;
  for (std::int64_t row = 0; row < problem.rows(); ++row) {
    const std::int64_t head = row / problem.seq_q;
    const OutputRow where{head / problem.heads, head % problem.heads, row % problem.seq_q};
    for (const double value : attention_row(problem, inputs, where).values)
      values.push_back(static_cast<float>(value));
  }
  TensorReference reference = make_out_reference(problem, std::move(values));
  reference.limits.max_abs = reference.limits.mean_abs = 0.05;
  reference.lost = LostOutputs(problem);
  return reference;
}

std::size_t element_at(const Attention& p, std::int64_t head, std::int64_t row,
                       std::int64_t column) {
  return static_cast<std::size_t>((head * p.seq_q + row) * p.head_dim + column);
}

}  // namespace

TEST_CASE("an element takes along what depends on it, and may take along the rest of its head") {
  const Attention problem = fused();
  const LostOutputs lost(problem);
  CHECK(lost.has(0));
  CHECK(lost.has(5));
  CHECK_FALSE(lost.has(6));
  CHECK(lost.must_be_lost(1, 9, 3));        // the last query of q's head
  CHECK_FALSE(lost.must_be_lost(1, 8, 3));  // another
  CHECK_FALSE(lost.must_be_lost(0, 9, 3));
  CHECK(lost.must_be_lost(2, 2, 0));  // k's head: every row that sees its first key
  CHECK_FALSE(lost.must_be_lost(2, 1, 0));
  CHECK(lost.must_be_lost(4, 5, 8));  // a column of v's head
  CHECK_FALSE(lost.must_be_lost(4, 5, 7));
}

TEST_CASE("the spoilt element of v lies among the columns of v") {
  const Attention problem = with_value_dim({.heads = 3, .kv_heads = 3, .seq_kv = 2}, 24);
  CHECK(LostOutputs(problem).must_be_lost(2, 0, 12));
  CHECK_FALSE(LostOutputs(problem).must_be_lost(2, 0, 13));
  HostInputs inputs = make_inputs(problem, {});
  const std::vector<std::byte> v = inputs.v;
  spoil(problem, inputs);
  const auto differs = std::ranges::mismatch(v, inputs.v).in1 - v.begin();
  CHECK(differs / 2 == 2 * 2 * 24 + 12);
}

TEST_CASE("with one key head the elements share it") {
  const Attention problem{.batch = 1, .heads = 2, .kv_heads = 1, .seq_q = 4, .seq_kv = 4};
  CHECK(LostOutputs(problem).must_be_lost(0, 0, 0));
  CHECK(LostOutputs(problem).must_be_lost(1, 3, 63));
}

TEST_CASE("a number that hides an infinity or NaN is refused, and so is a wrong one elsewhere") {
  const Attention problem = fused();
  const TensorReference reference = reference_of(problem);
  std::vector<std::byte> out = exact_output(problem);
  CHECK(judge(reference, compare(reference, out)).passed);
  auto* const elements = reinterpret_cast<std::uint16_t*>(out.data());

  // A head that is lost as a whole, as its factor is.
  std::uint16_t* const head = elements + element_at(problem, 5, 0, 0);
  std::fill_n(head, problem.seq_q * problem.head_dim, encode(Dtype::kBf16, NAN));
  CHECK(judge(reference, compare(reference, out)).passed);

  elements[element_at(problem, 3, 4, 5)] = encode(Dtype::kBf16, 0.25f);
  const Judgement hidden = judge(reference, compare(reference, out));
  CHECK_FALSE(hidden.passed);
  CHECK(hidden.worst_rule == "not_finite");
  CHECK(hidden.reason ==
        "not_finite: 1 outputs are numbers, though an input that they depend on is NaN or "
        "infinite, first at batch 0, head 3, row 4, column 5");

  // Whoever forgives the number still hears of what else is wrong.
  elements[element_at(problem, 7, 4, 5)] = encode(Dtype::kBf16, 100);
  CHECK(judge(reference, compare(reference, out)).worst_rule == "max");

  out = exact_output(problem);
  reinterpret_cast<std::uint16_t*>(out.data())[element_at(problem, 7, 4, 5)] =
      encode(Dtype::kBf16, NAN);
  CHECK(judge(reference, compare(reference, out)).worst_rule == "finite");
}

TEST_CASE("log-sum-exps of lost heads are not judged, the others are") {
  Attention problem = fused();
  std::vector<float> values(static_cast<std::size_t>(problem.rows()), 1.0f);
  LseReference reference =
      make_lse_reference(problem, make_inputs(problem, before_spoiling(kCase)), values);
  leave_out(reference, LostOutputs(problem));
  values[0] = NAN;
  CHECK(judge_lse(reference, std::as_bytes(std::span(values))).verdict.passed);
  values.back() = NAN;
  CHECK_FALSE(judge_lse(reference, std::as_bytes(std::span(values))).verdict.passed);
}
