// device_problem_test.cpp: Checks which references may judge candidates.
#include "worker/device/device_problem.hpp"

#include <cstring>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "support/fake_device.hpp"
#include "worker/verify/host_reference.hpp"
#include "worker/verify/inputs.hpp"
#include "worker/verify/tolerance.hpp"

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

/// Attention of one head of an fp8 problem: fp32 of the reference, the output's type of the
/// low-precision reference.
void attend_in_fp8(const Attention& whole, const std::byte* q, const std::byte* k,
                   const std::byte* v, const float* factors[3], void* out, bool low_precision) {
  Attention head = whole;
  head.batch = head.heads = head.kv_heads = 1;
  const auto queries = static_cast<std::size_t>(head.query_elements());
  const auto keys = static_cast<std::size_t>(head.key_elements());
  const HostInputs inputs{{q, q + queries}, {k, k + keys}, {v, v + keys},
                          {*factors[0]},    {*factors[1]}, {*factors[2]}};
  for (std::int64_t row = 0, at = 0; row < head.seq_q; ++row) {
    for (const double value : attention_row(head, inputs, {0, 0, row}).values) {
      const auto single = static_cast<float>(value);
      if (low_precision) static_cast<std::uint16_t*>(out)[at] = encode(Dtype::kBf16, single);
      if (!low_precision) static_cast<float*>(out)[at] = single;
      ++at;
    }
  }
}

void make_fp8(FakeDevice& device) {
  Attention& problem = device.order.problem.as_attention();
  problem.dtype = Dtype::kE4m3;
  problem.out_dtype = Dtype::kBf16;
  problem.lse = false;
  for (Program* program : {&device.order.reference, &device.order.low_precision}) {
    StagePlan& stage = program->plan.stages.front();
    const bool low_precision = program == &device.order.low_precision;
    stage.arguments = {"q", "k", "v", "q_descale", "k_descale", "v_descale", "out"};
    device.driver.define(
        stage.entry, std::function([&device, low_precision](
                                       const std::byte* q, const std::byte* k, const std::byte* v,
                                       const float* q_descale, const float* k_descale,
                                       const float* v_descale, void* out) {
          const float* factors[] = {q_descale, k_descale, v_descale};
          attend_in_fp8(device.attention(), q, k, v, factors, out, low_precision);
        }));
  }
}

}  // namespace

TEST_CASE("where single keys decide, an fp8 reference knows what rounding may cost each value") {
  FakeDevice device;
  make_fp8(device);
  const Attention& problem = device.attention();
  device.order.cases = {{Distribution::kOutliers, 42}, {Distribution::kUniform, 43}};
  REQUIRE(device.begin());
  const InputSet& set = device.problem().sets()[0];
  const std::vector<float>& rounding = set.outputs[0].rounding;
  REQUIRE(rounding.size() == device.elements());
  const HostInputs inputs = with_magnitudes_of_v(make_inputs(problem, set.which, set.v_doublings));
  const std::int64_t last = problem.rows() - 1;
  const HostRow row =
      attention_row(problem, inputs, {problem.batch - 1, problem.heads - 1, last % problem.seq_q});
  const auto first = static_cast<std::size_t>(last * problem.head_dim);
  for (std::size_t d = 0; d < row.values.size(); ++d)
    CHECK(rounding[first + d] == rounding_of(problem, {static_cast<float>(row.values[d])})[0]);
  CHECK(device.problem().sets()[1].outputs[0].rounding.empty());
}

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
  spoil<Half>(device, "low_precision", [](Half* out, float*) { std::memset(out, 0, 32 * 16 * 2); });
  CHECK_THAT(refusal(device),
             ContainsSubstring("the low-precision reference breaks its own limits"));
}

TEST_CASE("limits that zeros would meet are refused") {
  FakeDevice device;
  device.order.cases = {{Distribution::kLargeLogits, 42}};
  spoil<Half>(device, "low_precision", [](Half* out, float*) {
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

TEST_CASE("the reference's slices cover every row of every head") {
  Attention problem{1, 4, 2, 8, 16, 32};
  const std::vector<Offsets> slices = attention_slices(problem, 3);
  REQUIRE(slices.size() == 4 * 3);
  CHECK(slices[0].at("out") == 0);
  CHECK(slices[1].at("out") == 3 * 32);
  CHECK(slices[2].at("out") == 5 * 32);  // rows 5 to 7: row 5 once more
  CHECK(slices[8].at("lse") == 2 * 8 + 5);
  CHECK(slices[8].at("k") == 16 * 32);  // heads 2 and 3 read key head 1
  CHECK(slices[5].at("v_descale") == 0);
  problem.value_dim = 24;
  CHECK(attention_slices(problem, 3)[8].at("k") == 16 * 32);
  CHECK(attention_slices(problem, 3)[8].at("v") == 16 * 24);
  CHECK(attention_slices(problem, 3)[2].at("q") == 5 * 32);
  CHECK(attention_slices(problem, 3)[2].at("out") == 5 * 24);
}

TEST_CASE("a slice of the reference begins at its own part of each optional tensor") {
  Attention problem{3, 4, 4, 8, 16, 32};
  problem.alibi = problem.sink = true;
  problem.bias = *parse_bias("3,1,8,16");
  problem.mask = *parse_mask("padding:9,16,3");
  const std::vector<Offsets> slices = attention_slices(problem, 8);
  REQUIRE(slices.size() == 12);
  CHECK(slices[6].at("lengths") == 1);
  CHECK(slices[6].at("alibi") == 2);
  CHECK(slices[6].at("sink") == 2);
  CHECK(slices[6].at("bias") == 1 * 8 * 16);
  Attention packed{1, 4, 4, 8, 8, 32};
  packed.mask = *parse_mask("document:5,3");
  packed.tensors = {*parse_named_tensor("table=f32[8]")};
  for (const Offsets& slice : attention_slices(packed, 8)) {
    CHECK(slice.at("lengths") == 0);
    CHECK(slice.at("tensor_table") == 0);
  }
}
