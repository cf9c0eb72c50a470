// declared_inputs_test.cpp: Checks that declared inputs repeat for a seed and match their
// declaration.
#include <algorithm>
#include <cmath>
#include <cstring>

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>

#include "core/file.hpp"
#include "support/temporary_folder.hpp"
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

namespace {

template <typename Element>
std::vector<Element> whole_values(PlainType type, double from, double to,
                                  Distribution how = Distribution::kNormal) {
  OperationPlan plan = plan_of({Fill::Kind::kWhole, to - from, from});
  plan.tensors[0].plain = type;
  const auto inputs = declared_inputs(plan, {how, 42});
  std::vector<Element> read(inputs[0].bytes.size() / sizeof(Element));
  std::memcpy(read.data(), inputs[0].bytes.data(), inputs[0].bytes.size());
  REQUIRE(read.size() == 300 * 400);
  return read;
}

}  // namespace

TEST_CASE("integers are drawn from their range, both ends included") {
  const auto bytes = whole_values<std::int8_t>(PlainType::kI8, -3, 4);
  CHECK(std::ranges::min(bytes) == -3);
  CHECK(std::ranges::max(bytes) == 4);
  CHECK(std::ranges::count(bytes, 0) > 300 * 400 / 9);
  const auto wide = whole_values<std::int64_t>(PlainType::kI64, -0x1p53, 0x1p53);
  CHECK(std::ranges::min(wide) < -(std::int64_t{1} << 52));
  CHECK(std::ranges::max(wide) > std::int64_t{1} << 52);
  const auto truths = whole_values<std::uint8_t>(PlainType::kBool, 0, 1, Distribution::kOutliers);
  CHECK(std::ranges::max(truths) == 1);
  CHECK(std::ranges::count(whole_values<std::uint16_t>(PlainType::kU16, 7, 9, Distribution::kZeros),
                           7) == 300 * 400);
}

TEST_CASE("f64 inputs have more bits than f32") {
  OperationPlan plan = plan_of({Fill::Kind::kNormal, 1.0 / 3, 0.1});
  plan.tensors[0].plain = PlainType::kF64;
  const auto inputs = declared_inputs(plan, {Distribution::kNormal, 42});
  double first = 0;
  REQUIRE(inputs[0].bytes.size() == 300 * 400 * sizeof first);
  std::memcpy(&first, inputs[0].bytes.data(), sizeof first);
  CHECK(first != static_cast<double>(static_cast<float>(first)));
  CHECK(std::abs(first) < 3);
}

TEST_CASE("outputs that are filled are drawn in the order of the declaration") {
  OperationPlan plan = plan_of({}, Dtype::kF16);
  const auto two = declared_inputs(plan, {Distribution::kNormal, 1});
  plan.tensors[1].filled = true;
  const auto three = declared_inputs(plan, {Distribution::kNormal, 1});
  REQUIRE(three.size() == 3);
  CHECK(three[1].name == "y");
  CHECK(three[1].bytes == two[1].bytes);
  CHECK(three[2].bytes != two[1].bytes);
}

TEST_CASE("elements of a file are the same for every seed and distribution") {
  const test::TemporaryFolder folder;
  const std::string elements(std::size_t{300} * 400 * 4, '\x42');
  REQUIRE(replace_file(folder / "x", elements));
  const Fill fill{Fill::Kind::kFile, 1, 0, folder / "x"};
  const auto read = values(fill);
  CHECK(std::memcmp(read.data(), elements.data(), elements.size()) == 0);
  CHECK(values(fill, Distribution::kZeros, 7) == read);
}
