// declared_output_test.cpp: Checks a custom operation's outputs against low-precision reference or
// tolerance.
#include <cmath>
#include <cstring>
#include <limits>
#include <span>

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>

#include "worker/verify/tolerance.hpp"

using namespace fatune;
using Catch::Approx;

namespace {

const TensorPlan kHalf{"y", Dtype::kF16, {100, 16}, true, {}};
const TensorPlan kSingle{"y", std::nullopt, {100, 16}, true, {}};

std::vector<float> right() {
  std::vector<float> values(1600);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = std::sin(static_cast<float>(i)) * 2;
  return values;
}

std::vector<std::byte> bytes_of(const TensorPlan& tensor, const std::vector<float>& values) {
  std::vector<std::byte> bytes(tensor.bytes());
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (tensor.type) {
      const std::uint16_t element = encode(*tensor.type, values[i]);
      std::memcpy(bytes.data() + 2 * i, &element, 2);
    } else {
      std::memcpy(bytes.data() + 4 * i, &values[i], 4);
    }
  }
  return bytes;
}

TensorReference reference(const TensorPlan& tensor,
                          std::optional<DeclaredTolerance> tolerance = std::nullopt) {
  TensorReference made = make_reference(tensor, right());
  REQUIRE(check_written(made));
  made.tolerance = std::move(tolerance);
  if (!made.tolerance)
    made.limits = declared_limits(made, compare(made, bytes_of(tensor, right())), Dtype::kF16);
  return made;
}

Judgement judged(const TensorReference& reference, const std::vector<float>& values) {
  return judge(reference, compare(reference, bytes_of(reference.tensor, values)));
}

}  // namespace

TEST_CASE("one rounding passes, a wrong element does not, and its place is told") {
  const TensorReference half = reference(kHalf);
  CHECK(judged(half, right()).passed);
  auto wrong = right();
  wrong[35] += 0.5f;
  const Judgement judgement = judged(half, wrong);
  CHECK_FALSE(judgement.passed);
  CHECK(judgement.worst_rule == "max");
  CHECK(judgement.reason.find("y[2, 3]") != std::string::npos);
}

TEST_CASE("an error that is small but everywhere fails by another rule") {
  auto wrong = right();
  for (float& value : wrong) value *= 1.0005f;
  const Judgement judgement = judged(reference(kHalf), wrong);
  CHECK_FALSE(judgement.passed);
  CHECK(judgement.worst_rule == "mean");
}

TEST_CASE("a wrong block of rows is not averaged away") {
  const TensorReference half = reference(kHalf);
  Comparison errors = compare(half, bytes_of(kHalf, right()));
  errors.worst_block_l2 = 1;
  errors.worst_block = 1;
  const Judgement judgement = judge(half, errors);
  CHECK(judgement.worst_rule == "block_l2");
  CHECK(judgement.reason.find("rows 64 to 99 of y") != std::string::npos);
}

TEST_CASE("fp32 outputs are held to fp32") {
  const TensorReference single = reference(kSingle);
  CHECK(judged(single, right()).passed);
  auto wrong = right();
  for (float& value : wrong) value *= 1.0001f;
  CHECK_FALSE(judged(single, wrong).passed);
}

TEST_CASE("what is not finite is counted before anything else") {
  auto wrong = right();
  wrong[16] = std::numeric_limits<float>::infinity();
  wrong[40] = std::numeric_limits<float>::quiet_NaN();
  const Judgement judgement = judged(reference(kSingle), wrong);
  CHECK_FALSE(judgement.passed);
  CHECK(judgement.reason == "finite: 2 of 1600 elements of y are NaN or infinite, first y[1, 0]");
  CHECK(judgement.margin == kWorstMargin);
}

TEST_CASE("a declared tolerance stands alone, element by element") {
  const TensorReference declared = reference(kSingle, DeclaredTolerance{0.01, 0.01, "chosen"});
  auto values = right();
  for (float& value : values) value *= 1.009f;
  const Judgement passed = judged(declared, values);
  CHECK(passed.passed);
  CHECK(passed.worst_rule == "tolerance");
  values[5] = right()[5] + 0.05f;
  const Judgement failed = judged(declared, values);
  CHECK_FALSE(failed.passed);
  CHECK(failed.reason.find("y[0, 5]") != std::string::npos);
}

TEST_CASE("limits that zeros come near to prove nothing") {
  CHECK(vacuity_margin(reference(kHalf)) > kLeastVacuity);
  CHECK(vacuity_margin(reference(kSingle, DeclaredTolerance{1.0, 0, "too wide"})) < kLeastVacuity);
  CHECK(judged(reference(kHalf), std::vector<float>(1600, 0.0f)).margin > kLeastVacuity);
}

TEST_CASE("a reference that leaves something unwritten is no reference") {
  auto values = right();
  values[17] = std::numeric_limits<float>::quiet_NaN();
  const Status written = check_written(make_reference(kSingle, values));
  REQUIRE_FALSE(written);
  CHECK(written.error().message.find("y[1, 1]") != std::string::npos);
}

TEST_CASE("a reference of zeros allows zeros alone") {
  TensorReference made = make_reference(kHalf, std::vector<float>(1600, 0.0f));
  const auto zeros = bytes_of(kHalf, std::vector<float>(1600, 0.0f));
  made.limits = declared_limits(made, compare(made, zeros), Dtype::kF16);
  CHECK(judge(made, compare(made, zeros)).passed);
  CHECK_FALSE(judged(made, right()).passed);
}

namespace {

template <typename Element>
std::vector<std::byte> raw(const std::vector<Element>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {bytes.begin(), bytes.end()};
}

TensorPlan plain(PlainType type) {
  TensorPlan tensor{"y", std::nullopt, {100, 16}, true, {}};
  tensor.plain = type;
  return tensor;
}

}  // namespace

TEST_CASE("integers must be equal to the reference's") {
  std::vector<std::int32_t> values(1600, 7);
  const TensorReference made = make_declared_reference(plain(PlainType::kI32), raw(values));
  REQUIRE(check_written(made));
  CHECK(vacuity_margin(made) >= kLeastVacuity);
  const Judgement same = judge(made, compare(made, raw(values)));
  CHECK(same.passed);
  CHECK(same.worst_rule == "equal");
  values[17] = values[35] = -8;
  const Comparison compared = compare(made, raw(values));
  CHECK_FALSE(compared.allclose_1e3);
  const Judgement judgement = judge(made, compared);
  CHECK_FALSE(judgement.passed);
  CHECK(judgement.reason ==
        "equal: 2 of 1600 elements of y differ from the reference's, first y[1, 1] is -8, not 7");
  const TensorReference truths =
      make_declared_reference(plain(PlainType::kBool), raw(std::vector<std::uint8_t>(1600, 1)));
  CHECK(judge(truths, compare(truths, raw(std::vector<std::uint8_t>(1600, 255)))).reason ==
        "equal: 1600 of 1600 elements of y differ from the reference's, first y[0, 0] is 255, not "
        "1");
}

TEST_CASE("an f64 output is judged in f64, as an fp32 output in fp32") {
  std::vector<double> values(1600);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = std::sin(static_cast<double>(i)) * 2;
  TensorReference made = make_declared_reference(plain(PlainType::kF64), raw(values));
  REQUIRE(check_written(made));
  CHECK(made.largest > 1.99);
  made.limits = declared_limits(made, compare(made, raw(values)), Dtype::kF16);
  CHECK(judge(made, compare(made, raw(values))).passed);
  auto near = values;
  for (double& each : near) each *= 1 + 1e-15;
  CHECK(judge(made, compare(made, raw(near))).passed);
  near[35] += 1e-12;  // far less than fp32 can tell
  const Judgement judgement = judge(made, compare(made, raw(near)));
  CHECK_FALSE(judgement.passed);
  CHECK(judgement.reason.find("y[2, 3]") != std::string::npos);
  near[35] = std::numeric_limits<double>::quiet_NaN();
  CHECK(judge(made, compare(made, raw(near))).worst_rule == "finite");
  made.tolerance = DeclaredTolerance{1e-9, 0, ""};
  near[35] = values[35] + 1e-10;
  CHECK(judge(made, compare(made, raw(near))).passed);
  values[4] = std::numeric_limits<double>::infinity();
  CHECK_FALSE(check_written(make_declared_reference(plain(PlainType::kF64), raw(values))));
}

TEST_CASE("a long row is one block, though several threads compare it") {
  const TensorPlan row{"y", std::nullopt, {1'000'000}, true, {}};
  const TensorReference ones = make_reference(row, std::vector<float>(1'000'000, 1.0f));
  CHECK(ones.block_squares == std::vector<double>{1e6});
  std::vector<float> wrong(1'000'000, 1.0f);
  wrong[700'001] = wrong[999'999] = 3;
  const Comparison errors = compare(ones, bytes_of(row, wrong));
  CHECK(errors.worst == 700'001);
  CHECK(errors.worst_block_l2 == Approx(std::sqrt(8 / 1e6)));
  CHECK(errors.mean_abs == Approx(4e-6));
  wrong[300'000] = std::numeric_limits<float>::quiet_NaN();
  CHECK(compare(ones, bytes_of(row, wrong)).first_not_finite == 300'000);
}
