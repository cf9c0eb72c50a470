// device_problem_test.cpp - references that may judge candidates, and those that may not.
#include "worker/device/device_problem.hpp"

#include <cstring>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "support/fake_device.hpp"

using namespace fatune;
using Catch::Matchers::ContainsSubstring;
using test::FakeDevice;

namespace {

using Half = std::uint16_t;

/// The entry with something done to what it wrote.
template <typename Output>
void spoil(FakeDevice& device, const std::string& entry,
           std::function<void(Output*, float*)> after) {
  const auto right = device.driver.entries.at(entry).bind;
  device.driver.define(entry, std::function([right, after](const Half* q, const Half* k,
                                                           const Half* v, Output* out, float* lse) {
                         void* values[] = {&q, &k, &v, &out, &lse};
                         right(values)();
                         after(out, lse);
                       }));
}

std::string refusal(FakeDevice& device) {
  const Status status = device.begin();
  REQUIRE_FALSE(status);
  CHECK(status.error().kind == ErrorKind::kDevice);
  return status.error().message;
}

}  // namespace

TEST_CASE("a problem has inputs, limits and reference of every case") {
  FakeDevice device;
  REQUIRE(device.begin());
  DeviceProblem& problem = device.problem();
  REQUIRE(problem.sets().size() == 2);
  CHECK(problem.sets()[1].which == InputCase{Distribution::kUniform, 43});
  for (const InputSet& set : problem.sets()) {
    CHECK(set.inputs.size() == 3);
    REQUIRE(set.outputs.size() == 1);
    CHECK(set.outputs[0].largest > 0);
    CHECK(set.outputs[0].limits.max_abs > 0);
    CHECK(set.lse.values.size() == device.rows());
  }
  CHECK(problem.outputs().size() == 2);
  CHECK(problem.kernel_limit() == std::chrono::milliseconds(20));
}

TEST_CASE("a wrong reference judges nothing") {
  FakeDevice device;
  std::string message;
  SECTION("an output") {
    spoil<float>(device, "reference", [](float* out, float*) {
      for (int i = 0; i < 32 * 16; ++i) out[i] *= 1.001F;
    });
  }
  SECTION("a log-sum-exp") {
    spoil<float>(device, "reference", [](float*, float* lse) {
      for (int i = 0; i < 32; ++i) lse[i] += 0.01F;
    });
  }
  CHECK_THAT(refusal(device), ContainsSubstring("making the reference for normal inputs"));
}

TEST_CASE("a low-precision reference that breaks the rules itself sets no limits") {
  FakeDevice device;
  spoil<Half>(device, "twin", [](Half* out, float*) { std::memset(out, 0, 32 * 16 * 2); });
  CHECK_THAT(refusal(device),
             ContainsSubstring("the low-precision twin of the reference breaks its own limits"));
}

TEST_CASE("limits that zeros would meet are refused") {
  FakeDevice device;
  device.order.cases = {{Distribution::kLargeLogits, 42}};
  spoil<Half>(device, "twin", [](Half* out, float*) {
    for (int i = 0; i < 32 * 16; i += 2) out[i] ^= 0x8000;  // every second sign
  });
  CHECK_THAT(refusal(device), ContainsSubstring("the check would prove nothing"));
}

TEST_CASE("no candidate can read the reference from memory that was freed") {
  FakeDevice device;
  device.driver.freed.emplace();
  REQUIRE(device.begin());
  const std::vector<float>& reference = device.problem().sets()[0].outputs[0].values;
  std::size_t blocks = 0;
  bool found = false;
  for (const std::vector<std::byte>& block : *device.driver.freed) {
    ++blocks;
    for (std::size_t at = 0; at + 16 <= block.size(); at += 4)
      found = found || std::memcmp(&block[at], reference.data(), 16) == 0;
  }
  CHECK(blocks >= 4);
  CHECK_FALSE(found);
}

TEST_CASE("inputs and bands that a candidate wrote to are put back") {
  FakeDevice device;
  REQUIRE(device.begin());
  DeviceProblem& problem = device.problem();
  InputSet& set = problem.sets()[0];
  auto* q = reinterpret_cast<Half*>(set.inputs[0].address());
  const Half before = q[3];
  q[3] ^= 1;
  q[-2] = 0;
  REQUIRE(problem.restore());
  CHECK(q[3] == before);
  CHECK(q[-2] == 0xffff);
}
