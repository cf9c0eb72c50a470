// declared_inputs_test.cpp: Checks that declared inputs repeat for a seed and match their
// declaration.
#include <algorithm>
#include <cmath>
#include <cstring>

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>

#include "worker/verify/inputs.hpp"

using namespace fatune;
using Catch::Approx;

namespace {

OperationPlan plan_of(const Fill& fill, std::optional<Dtype> type = std::nullopt) {
  OperationPlan plan;
  plan.tensors = {{"x", type, {300, 400}, false, fill},
                  {"y", type, {300, 400}, true, {}},
                  {"z", type, {300, 400}, false, fill}};
  return plan;
}

std::vector<float> values(const Fill& fill, Distribution how = Distribution::kNormal,
                          std::uint64_t seed = 42) {
  const auto inputs = declared_inputs(plan_of(fill), {how, seed});
  std::vector<float> read(inputs[0].bytes.size() / sizeof(float));
  std::memcpy(read.data(), inputs[0].bytes.data(), inputs[0].bytes.size());
  return read;
}

double mean(const std::vector<float>& all) {
  double sum = 0;
  for (const float each : all) sum += each;
  return sum / static_cast<double>(all.size());
}

double deviation(const std::vector<float>& all) {
  const double middle = mean(all);
  double sum = 0;
  for (const float each : all) sum += (each - middle) * (each - middle);
  return std::sqrt(sum / static_cast<double>(all.size()));
}

}  // namespace

TEST_CASE("every input has bytes of its own, the same for a seed") {
  const OperationPlan plan = plan_of({}, Dtype::kF16);
  const auto first = declared_inputs(plan, {Distribution::kNormal, 1});
  REQUIRE(first.size() == 2);
  CHECK(first[0].name == "x");
  CHECK(first[1].name == "z");
  CHECK(first[0].bytes.size() == 300 * 400 * 2);
  CHECK(first[0].bytes != first[1].bytes);
  CHECK(declared_inputs(plan, {Distribution::kNormal, 1})[1].bytes == first[1].bytes);
  CHECK(declared_inputs(plan, {Distribution::kNormal, 2})[0].bytes != first[0].bytes);
}

TEST_CASE("draws go through scale and offset") {
  const auto normal = values({Fill::Kind::kNormal, 2, 3});
  CHECK(mean(normal) == Approx(3).margin(0.03));
  CHECK(deviation(normal) == Approx(2).epsilon(0.01));
  const auto uniform = values({Fill::Kind::kUniform, 0.5, 1});
  CHECK(mean(uniform) == Approx(1).margin(0.01));
  const auto [least, most] = std::minmax_element(uniform.begin(), uniform.end());
  CHECK(*least >= 0.5f);
  CHECK(*most <= 1.5f);
  const auto constant = values({Fill::Kind::kConstant, 1, -2});
  CHECK(std::all_of(constant.begin(), constant.end(), [](float each) { return each == -2; }));
}

TEST_CASE("hard inputs change what is drawn, and nothing else") {
  const Fill fill{Fill::Kind::kNormal, 1, 5};
  const auto zeros = values(fill, Distribution::kZeros);
  CHECK(std::all_of(zeros.begin(), zeros.end(), [](float each) { return each == 5; }));
  const auto uniform = values(fill, Distribution::kUniform);
  CHECK(*std::max_element(uniform.begin(), uniform.end()) <= 6);
  const auto usual = values(fill), outliers = values(fill, Distribution::kOutliers);
  std::size_t different = 0;
  for (std::size_t i = 0; i < usual.size(); ++i) different += usual[i] != outliers[i] ? 1 : 0;
  CHECK(different > 60);
  CHECK(different < 200);  // one in 1024 of 120,000
  const Fill constant{Fill::Kind::kConstant, 1, 5};
  CHECK(values(constant, Distribution::kOutliers) == values(constant));
}
