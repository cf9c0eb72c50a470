// quantize_test.cpp: Checks factors and elements of fp8 inputs, and the error of quantization.
#include "worker/verify/quantize.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "worker/verify/host_reference.hpp"

using namespace fatune;

namespace {

/// Loss of rows, in the 2-norm.
struct Loss {
  double errors = 0, values = 0;

  void add(const HostRow& got, const HostRow& right) {
    for (std::size_t d = 0; d < right.values.size(); ++d) {
      errors += std::pow(got.values[d] - right.values[d], 2);
      values += std::pow(right.values[d], 2);
    }
  }
  double relative() const { return std::sqrt(errors / values); }
};

Attention fp8_problem(Dtype dtype) {
  return {.batch = 2,
          .heads = 4,
          .kv_heads = 2,
          .seq_q = 40,
          .seq_kv = 72,
          .head_dim = 64,
          .dtype = dtype,
          .out_dtype = Dtype::kBf16};
}

std::vector<float> values_of(const std::vector<std::byte>& bytes, Dtype dtype) {
  const auto width = static_cast<std::size_t>(size_of(dtype));
  std::vector<float> values(bytes.size() / width);
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::uint16_t element = 0;
    std::memcpy(&element, bytes.data() + i * width, width);
    values[i] = decode(dtype, element);
  }
  return values;
}

float largest(std::span<const float> values) {
  float all = 0;
  for (const float value : values) all = std::max(all, std::abs(value));
  return all;
}

}  // namespace

TEST_CASE("a head's largest magnitude becomes the largest number, the others lie near") {
  const Dtype dtype = GENERATE(Dtype::kE4m3, Dtype::kE5m2);
  const Attention problem = fp8_problem(dtype);
  const float most = dtype == Dtype::kE4m3 ? 448.0f : 57344.0f;
  const float half_step = dtype == Dtype::kE4m3 ? 0x1p-4f : 0x1p-3f;
  const HostInputs plain = unquantized_inputs(problem, {});
  const HostInputs made = quantize(problem, plain);
  REQUIRE(made.k_descale.size() == 4);
  const std::vector<float> before = values_of(plain.k, Dtype::kBf16);
  const std::vector<float> after = values_of(made.k, dtype);
  const std::size_t head = before.size() / 4;
  for (std::size_t i = 0; i < before.size(); ++i) {
    const float descale = made.k_descale[i / head];
    const float smallest_normal = dtype == Dtype::kE4m3 ? 0x1p-6f : 0x1p-14f;
    const float allowed = half_step * std::max(std::abs(before[i]), descale * smallest_normal);
    REQUIRE(std::abs(after[i] * descale - before[i]) <= allowed * 1.0001f);
  }
  for (std::size_t part = 0; part < 4; ++part) {
    CHECK(largest(std::span(after).subspan(part * head, head)) == most);
    CHECK(made.k_descale[part] == largest(std::span(before).subspan(part * head, head)) / most);
  }
}

TEST_CASE("query heads of a group share the factor of their key head") {
  const Attention problem = fp8_problem(Dtype::kE4m3);
  const HostInputs plain = unquantized_inputs(problem, {});
  const HostInputs made = quantize(problem, plain);
  const std::vector<float> before = values_of(plain.q, Dtype::kBf16);
  REQUIRE(made.q_descale.size() == 4);
  const std::size_t group = before.size() / 4;
  for (std::size_t part = 0; part < 4; ++part)
    CHECK(made.q_descale[part] == largest(std::span(before).subspan(part * group, group)) / 448);
}

TEST_CASE("a head of zeros has the factor 1 and stays zeros") {
  const Attention problem = fp8_problem(Dtype::kE4m3);
  HostInputs plain = unquantized_inputs(problem, {});
  std::fill(plain.k.begin(), plain.k.begin() + static_cast<std::ptrdiff_t>(plain.k.size() / 4),
            std::byte{0});
  const HostInputs made = quantize(problem, plain);
  CHECK(made.k_descale[0] == 1.0f);
  CHECK(made.k_descale[1] != 1.0f);
  CHECK(std::all_of(made.k.begin(), made.k.begin() + static_cast<std::ptrdiff_t>(made.k.size() / 4),
                    [](std::byte byte) { return byte == std::byte{0}; }));
}

TEST_CASE("a fused problem's inputs are what the other's were before they were quantized") {
  Attention problem = fp8_problem(Dtype::kE4m3);
  const HostInputs plain = unquantized_inputs(problem, {});
  problem.quant = Quant::kFused;
  const HostInputs made = make_inputs(problem, {});
  CHECK(made.q == plain.q);
  CHECK(made.v == plain.v);
  CHECK(made.q_descale.empty());
  const OutputRow where{1, 2, 3};
  CHECK(attention_row(problem, made, where).values ==
        attention_row(unquantized(problem), plain, where).values);
}

TEST_CASE(
    "keys that share an offset keep their attention without their mean, and lose it with it") {
  Attention problem = fp8_problem(Dtype::kE4m3);
  problem.quant = Quant::kSmoothK;
  const HostInputs plain = unquantized_inputs(problem, {});
  const auto error_of = [&](Quant quant) {
    problem.quant = quant;
    const HostInputs made = quantize(problem, plain);
    Loss loss;
    double lacking = 0;
    for (const OutputRow& where : sample_rows(problem, 24, 1)) {
      const HostRow right = attention_row(unquantized(problem), plain, where);
      const HostRow got = attention_row(with_given_factors(problem), made, where);
      if (quant == Quant::kSmoothK) {
        const std::size_t row = static_cast<std::size_t>(
            (where.batch * problem.heads + where.head) * problem.seq_q + where.row);
        std::vector<float> lse(static_cast<std::size_t>(problem.rows()));
        lse[row] = static_cast<float>(got.lse);
        add_mean_scores(problem, plain, std::as_writable_bytes(std::span(lse)));
        CHECK(std::abs(lse[row] - right.lse) < 0.1);
        lacking = std::max(lacking, std::abs(got.lse - right.lse));
      }
      loss.add(got, right);
    }
    if (quant == Quant::kSmoothK) CHECK(lacking > 5);
    return loss.relative();
  };
  CHECK(error_of(Quant::kSmoothK) < 6e-2);
  CHECK(error_of(Quant::kFused) > 18e-2);
}

TEST_CASE(
    "log-sum-exps of a fused problem may be as wrong as the low-precision reference's, four times "
    "over") {
  LseReference reference{{}, {1, 2, -std::numeric_limits<float>::infinity()}, {0.5f, 0.5f, 0.5f}};
  const std::vector<float> low_precision = {1.25f, 1.5f, 7};
  allow_quantizing(reference, std::as_bytes(std::span(low_precision)));
  CHECK(reference.limits == std::vector<float>{2.5f, 2.5f, 2.5f});
}

TEST_CASE("heads and tensors differ in their factors, so that another's gives other values") {
  const Attention problem = fp8_problem(Dtype::kE4m3);
  const HostInputs made = make_inputs(problem, {});
  std::vector<float> all = made.q_descale;
  all.insert(all.end(), made.k_descale.begin(), made.k_descale.end());
  all.insert(all.end(), made.v_descale.begin(), made.v_descale.end());
  std::ranges::sort(all);
  for (std::size_t i = 1; i < all.size(); ++i) CHECK(all[i] > all[i - 1]);
  CHECK(all.back() > 1.5f * all.front());
}

TEST_CASE("attention of the quantized inputs is that of the others within a few percent") {
  const Attention problem = fp8_problem(Dtype::kE4m3);
  const HostInputs plain = unquantized_inputs(problem, {});
  const HostInputs made = quantize(problem, plain);
  Loss loss;
  for (const OutputRow& where : sample_rows(problem, 24, 1))
    loss.add(attention_row(problem, made, where),
             attention_row(unquantized(problem), plain, where));
  CHECK(loss.relative() < 6e-2);
  CHECK(loss.relative() > 1e-2);  // fp8 has not the precision of what it stands for
}
