// inputs_test.cpp: Checks that inputs repeat for a seed and have the promised distributions.
#include "worker/verify/inputs.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>

using namespace fatune;
using Catch::Approx;

namespace {

const Attention kProblem{
    .batch = 2, .heads = 4, .kv_heads = 2, .seq_q = 96, .seq_kv = 130, .head_dim = 64};

std::vector<float> decoded(Dtype dtype, const std::vector<std::byte>& bytes) {
  const auto width = static_cast<std::size_t>(size_of(dtype));
  std::vector<float> values;
  for (std::size_t at = 0; at < bytes.size(); at += width) {
    std::uint16_t element = 0;
    std::memcpy(&element, bytes.data() + at, width);
    values.push_back(decode(dtype, element));
  }
  return values;
}

struct Moments {
  double mean = 0, variance = 0, largest = 0;
};
Moments moments(const std::vector<float>& values) {
  Moments m;
  for (const float x : values) {
    m.mean += x / static_cast<double>(values.size());
    m.largest = std::max(m.largest, std::abs(static_cast<double>(x)));
  }
  for (const float x : values)
    m.variance += (x - m.mean) * (x - m.mean) / static_cast<double>(values.size());
  return m;
}

}  // namespace

TEST_CASE("sizes follow the problem and its element type") {
  const HostInputs f16 = make_inputs(kProblem, {});
  CHECK(f16.q.size() == 2 * 4 * 96 * 64 * 2);
  CHECK(f16.k.size() == 2 * 2 * 130 * 64 * 2);
  CHECK(f16.v.size() == f16.k.size());
  CHECK(make_inputs(with_value_dim(kProblem, 24), {}).v.size() == 2 * 2 * 130 * 24 * 2);
  Attention fp8 = kProblem;
  fp8.dtype = Dtype::kE4m3;
  fp8.out_dtype = Dtype::kBf16;
  CHECK(make_inputs(fp8, {}).q.size() == 2 * 4 * 96 * 64);
}

TEST_CASE("a seed gives the same bytes, another seed or tensor others") {
  const HostInputs a = make_inputs(kProblem, {Distribution::kNormal, 42});
  const HostInputs b = make_inputs(kProblem, {Distribution::kNormal, 42});
  CHECK((a.q == b.q && a.k == b.k && a.v == b.v));
  CHECK(a.k != a.v);
  CHECK(make_inputs(kProblem, {Distribution::kNormal, 43}).q != a.q);
}

TEST_CASE("queries are smaller by as much as a told scale is greater") {
  const HostInputs usual = make_inputs(kProblem, {Distribution::kNormal, 42});
  const double usual_scale = scale_of(kProblem);
  const HostInputs told =
      make_inputs(with_scale(kProblem, 4 * usual_scale), {Distribution::kNormal, 42});
  CHECK((told.k == usual.k && told.v == usual.v));
  const auto first = [](const HostInputs& inputs) {
    std::uint16_t element = 0;
    std::memcpy(&element, inputs.q.data(), sizeof(element));
    return decode(Dtype::kF16, element);
  };
  CHECK(first(told) == Approx(first(usual) / 4).epsilon(1e-3));
}

TEST_CASE("outliers of queries and scores keep their size with another scale") {
  const InputCase outliers{Distribution::kOutliers, 42};
  const auto largest = [&](double scale) {
    const std::vector<float> queries =
        decoded(Dtype::kF16, make_inputs(with_scale(kProblem, scale), outliers).q);
    return std::ranges::max(queries, {}, [](float x) { return std::abs(x); }) * scale;
  };
  CHECK(std::abs(largest(1)) == Approx(std::abs(largest(scale_of(kProblem)))).epsilon(1e-3));
  CHECK(std::abs(largest(1e5)) == Approx(std::abs(largest(1))).epsilon(1e-3));
}

TEST_CASE("queries of every valid scale are finite") {
  for (const Dtype dtype : {Dtype::kF16, Dtype::kBf16}) {
    for (const double scale : {1e-30, 1e-6, 1e5}) {
      Attention problem = with_scale(kProblem, scale);
      problem.dtype = dtype;
      REQUIRE(validate(problem));
      for (const auto how : {Distribution::kNormal, Distribution::kLargeLogits}) {
        const std::vector<float> queries = decoded(dtype, make_inputs(problem, {how, 42}).q);
        CHECK(std::ranges::all_of(queries, [](float x) { return std::isfinite(x); }));
        CHECK(std::ranges::any_of(queries, [](float x) { return x != 0; }));
      }
    }
  }
}

TEST_CASE("the random bits are the same on every machine") {
  CHECK(random_bits(0, 0, 0) == 0);
  CHECK(random_bits(42, 1, 0) != random_bits(42, 2, 0));
  CHECK(normal_value(32768) == Approx(1.9123e-5).epsilon(1e-3));  // quantile at 1/2 + 1/131072
  CHECK(normal_value(65535) == Approx(4.3244).epsilon(1e-4));     // quantile at 1 - 1/131072
  CHECK(normal_value(0) == -normal_value(65535));
  CHECK(normal_value(55138) == Approx(1.0).epsilon(1e-3));  // 0.84134 of 65536
}

TEST_CASE("named tensors have their values, or draws of their own") {
  Attention problem{1, 4, 4, 8, 16, 32};
  for (const char* text : {"doc=i32[6]:0*3,-7,2*2", "t=f32[2]:0.5,1e30", "u=f32[99]", "v=f32[99]"})
    problem.tensors.push_back(*parse_named_tensor(text));
  const HostInputs inputs = make_inputs(problem, {Distribution::kNormal, 42});
  const auto wholes = elements<std::int32_t>(inputs.of("tensor_doc"));
  CHECK(std::vector(wholes.begin(), wholes.end()) == std::vector<std::int32_t>{0, 0, 0, -7, 2, 2});
  CHECK(floats_of(inputs.of("tensor_t")) == std::vector<float>{0.5F, 1e30F});
  CHECK(floats_of(inputs.of("tensor_u")) != floats_of(inputs.of("tensor_v")));
  const auto zeros = floats_of(make_inputs(problem, {Distribution::kZeroQ, 42}).of("tensor_u"));
  CHECK(zeros == std::vector<float>(99, 0));
}

TEST_CASE("slopes are the ALiBi paper's; sinks lie among the scores, far above and far below") {
  Attention problem = kProblem;
  problem.alibi = problem.sink = true;
  const auto slopes = floats_of(make_inputs(problem, {}).of("alibi"));
  REQUIRE(slopes.size() == static_cast<std::size_t>(problem.heads));
  for (std::size_t head = 0; head < slopes.size(); ++head) {
    const double exponent = 8 * static_cast<double>(head + 1) / static_cast<double>(slopes.size());
    CHECK(slopes[head] == Approx(std::exp2(-exponent)));
  }
  const auto sinks_of = [&](Distribution how) {
    return decoded(problem.dtype, make_inputs(problem, {how, 42}).of("sink"));
  };
  for (const float sink : sinks_of(Distribution::kNormal)) CHECK(std::abs(sink - 4) < 5);
  CHECK(sinks_of(Distribution::kUniform)[0] == 8);
  CHECK(sinks_of(Distribution::kUniform)[1] == -40);
  for (const Distribution how : {Distribution::kOnesV, Distribution::kZeros, Distribution::kZeroQ})
    for (const float sink : sinks_of(how)) CHECK(sink == -40);
}

TEST_CASE("distributions are what their names say") {
  const auto q = [](Distribution d) {
    return moments(decoded(Dtype::kF16, make_inputs(kProblem, {d, 1}).q));
  };
  const Moments normal = q(Distribution::kNormal);
  CHECK(std::abs(normal.mean) < 0.02);
  CHECK(normal.variance == Approx(1.0).epsilon(0.03));
  const Moments uniform = q(Distribution::kUniform);
  CHECK(uniform.variance == Approx(1.0 / 3).epsilon(0.03));
  CHECK(uniform.largest <= 1.0);
  CHECK(q(Distribution::kLargeLogits).variance == Approx(64.0).epsilon(0.03));
  CHECK(q(Distribution::kOutliers).largest > 8);
  CHECK(q(Distribution::kZeros).largest == 0);
  const HostInputs zeros = make_inputs(kProblem, {Distribution::kZeros, 1});
  CHECK(moments(decoded(Dtype::kF16, zeros.k)).largest == 0);
  CHECK(moments(decoded(Dtype::kF16, zeros.v)).variance == Approx(1.0).epsilon(0.03));
}

TEST_CASE("inputs with a known answer are what their names say") {
  const HostInputs ones = make_inputs(kProblem, {Distribution::kOnesV, 1});
  for (const float x : decoded(Dtype::kF16, ones.v)) REQUIRE(x == 1);
  CHECK(moments(decoded(Dtype::kF16, ones.q)).variance == Approx(1.0).epsilon(0.03));
  const HostInputs flat = make_inputs(kProblem, {Distribution::kZeroQ, 1});
  CHECK(moments(decoded(Dtype::kF16, flat.q)).largest == 0);
  CHECK(moments(decoded(Dtype::kF16, flat.k)).variance == Approx(1.0).epsilon(0.03));
}

TEST_CASE("last_key differs from normal in the last key's values alone") {
  for (const std::size_t columns : {64, 24}) {
    const Attention problem = with_value_dim(kProblem, static_cast<std::int64_t>(columns));
    const auto normal = decoded(Dtype::kF16, make_inputs(problem, {}).v);
    const HostInputs inputs = make_inputs(problem, {Distribution::kLastKey, 42});
    CHECK(inputs.k == make_inputs(problem, {}).k);
    const auto v = decoded(Dtype::kF16, inputs.v);
    for (std::size_t i = 0; i < v.size(); ++i) {
      const bool last = i / columns % 130 == 129;
      REQUIRE(v[i] == (last ? 64.0f : normal[i]));
    }
  }
}

TEST_CASE("a tensor long enough for several threads has the bytes of a short one") {
  const Attention longer{.batch = 1, .heads = 1, .kv_heads = 1, .seq_q = 40'000, .head_dim = 64};
  const Attention shorter{.batch = 1, .heads = 1, .kv_heads = 1, .seq_q = 100, .head_dim = 64};
  for (const Distribution each : {Distribution::kNormal, Distribution::kOutliers}) {
    const auto all = make_inputs(longer, {each, 3}).q, few = make_inputs(shorter, {each, 3}).q;
    CHECK(std::equal(few.begin(), few.end(), all.begin()));
  }
}

TEST_CASE("doubling v is exact") {
  const auto once = decoded(
      Dtype::kBf16, make_inputs(Attention{.seq_q = 8, .seq_kv = 8, .dtype = Dtype::kBf16}, {}).v);
  const auto eight =
      decoded(Dtype::kBf16,
              make_inputs(Attention{.seq_q = 8, .seq_kv = 8, .dtype = Dtype::kBf16}, {}, 3).v);
  for (std::size_t i = 0; i < once.size(); ++i) CHECK(eight[i] == 8 * once[i]);
}

TEST_CASE("names of distributions are read back") {
  CHECK(*parse_distribution("large_logits") == Distribution::kLargeLogits);
  CHECK(name(*parse_distribution("last_key")) == "last_key");
  CHECK_FALSE(parse_distribution("gaussian"));
}
