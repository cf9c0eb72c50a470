// layouts_test.cpp: Checks strided and packed problems: addresses, memory, and the gates for gaps.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "support/fake_device.hpp"

using namespace fatune;
using Catch::Matchers::ContainsSubstring;
using test::FakeDevice;
using test::HostTensors;

namespace {

using Half = std::uint16_t;

/// Two heads of 32 rows of 16, one key head. Rows of q are 24 apart, heads of out one row more.
constexpr const char* kGaps = "q=2048:1024:24,out=2000:1000:24";

/// A device with a problem in that layout.
struct LaidOut : FakeDevice {
  explicit LaidOut(const char* layout) {
    order.problem.as_attention().layouts = *parse_layouts(layout);
    REQUIRE(validate(order.problem.as_attention()));
  }
  void refused(test::HostKernel after, const char* gate, const char* why) {
    const RunReply reply = run(wrong(std::move(after)));
    CHECK(reply.outcome == Outcome::kWrongResult);
    CHECK(gate_of(reply.outcome, reply.reason) == gate);
    CHECK_THAT(reply.reason, ContainsSubstring(why));
    const RunReply next = run(wrong([](const HostTensors&) {}));
    CHECK(next.reason.empty());
  }
};

}  // namespace

TEST_CASE("an honest kernel passes every gate in every layout") {
  LaidOut device(GENERATE("bshd", "packed", "packed,out=bhsd", kGaps));
  Program program = device.wrong([](const HostTensors&) {});
  program.plan.stages[0].dependent = true;
  const RunReply reply = device.run(program);
  CHECK(reply.reason.empty());
  CHECK(reply.outcome == Outcome::kMeasured);
  REQUIRE(reply.verification);
  CHECK(reply.verification->passed);
  CHECK(reply.verification->not_run.empty());
}

TEST_CASE("packed tensors lie in one buffer, each at its address") {
  LaidOut device("packed");
  REQUIRE(device.begin());
  DeviceProblem& problem = device.problem();
  const InputSet& set = problem.sets()[0];
  REQUIRE(set.inputs.size() == 1);
  CHECK(set.inputs[0].name() == "qkv");
  CHECK(set.inputs[0].bytes() == 32 * (2 + 1 + 1) * 16 * sizeof(Half));
  const TensorAddresses at = problem.addresses(set);
  CHECK(at.at("q") == set.inputs[0].address());
  CHECK(at.at("k") == at.at("q") + 2 * 16 * sizeof(Half));
  CHECK(at.at("v") == at.at("q") + 3 * 16 * sizeof(Half));
  CHECK(at.at("out") == problem.outputs()[0].address());
}

TEST_CASE("inputs are the same in every layout, with NaN between their rows") {
  const auto memory_of_q = [](const char* layout) {
    LaidOut device(layout);
    REQUIRE(device.begin());
    const GuardedBuffer& buffer = device.problem().sets()[0].inputs[0];
    const auto* const first = reinterpret_cast<const Half*>(buffer.address());
    return std::vector<Half>(first, first + buffer.bytes() / sizeof(Half));
  };
  const std::vector<Half> plain = memory_of_q("bhsd");
  const std::vector<Half> apart = memory_of_q(kGaps);
  const std::vector<Half> packed = memory_of_q("packed");
  REQUIRE(apart.size() == 1024 + 31 * 24 + 16);
  std::vector<Half> wanted(apart.size(), 0xffff);
  for (std::size_t i = 0; i < plain.size(); ++i) {
    const std::size_t head = i / 16 / 32, row = i / 16 % 32, column = i % 16;
    wanted[head * 1024 + row * 24 + column] = plain[i];
    CHECK(packed[row * 64 + head * 16 + column] == plain[i]);
  }
  CHECK(apart == wanted);
}

TEST_CASE("guard_bands: a store between two rows of out is found, whatever its value") {
  LaidOut device(kGaps);
  SECTION("a value of its own") {
    device.refused([](const HostTensors& t) { t.out[1000 + 24 * 7 + 19] = 0; }, "guard_bands",
                   "2 bytes between rows of out were written, the first at +6 behind batch 0, "
                   "head 1, row 7, column 15");
  }
  SECTION("the first pattern") {
    device.refused([](const HostTensors& t) { t.out[16] = 0xffff; }, "guard_bands",
                   "2 bytes between rows of out were written, the first at +0 behind batch 0, "
                   "head 0, row 0, column 15");
  }
  SECTION("between two heads") {
    device.refused([](const HostTensors& t) { t.out[999] = 0; }, "guard_bands",
                   "head 0, row 31, column 15");
  }
  SECTION("only while it is timed") {
    int calls = 0;
    device.refused(
        [&](const HostTensors& t) {
          if (++calls > 12) t.out[16] = 0;
        },
        "guard_bands", "between rows of out");
  }
}

TEST_CASE("inputs: a kernel that changes a neighbour of a packed tensor is refused") {
  LaidOut device("packed");
  device.refused([](const HostTensors& t) { const_cast<Half*>(t.q)[2 * 16] ^= 1; }, "inputs",
                 "the kernel changed qkv");
}

TEST_CASE("inputs: a kernel that writes between two rows of one is refused") {
  LaidOut device(kGaps);
  device.refused([](const HostTensors& t) { const_cast<Half*>(t.q)[16] = 0; }, "inputs",
                 "the kernel changed q");
}

TEST_CASE("accuracy: what lies between the rows of an input is NaN") {
  LaidOut device(kGaps);
  device.refused([](const HostTensors& t) { t.out[0] = t.q[16]; }, "accuracy", "finite");
}

TEST_CASE("places of wrong elements are those of the problem, not of the memory") {
  LaidOut device(GENERATE("bshd", kGaps));
  const std::int64_t row = strides_of(device.attention(), "out").row;
  const std::int64_t head = strides_of(device.attention(), "out").head;
  SECTION("wrong") {
    device.refused([=](const HostTensors& t) { t.out[head + 5 * row + 3] = 0x3c00; }, "accuracy",
                   "batch 0, head 1, row 5, column 3");
  }
  SECTION("never written") {
    const Program program = device.program([&](const HostTensors& t) {
      const Half kept = t.out[head + 5 * row + 3];
      device.attend(t);
      t.out[head + 5 * row + 3] = kept;
    });
    const RunReply reply = device.run(program);
    CHECK(reply.reason ==
          "poison: 1 of 1024 outputs were never written, first at batch 0, head 1, row 5, "
          "column 3");
  }
  SECTION("changing") {
    Half calls = 0;
    device.refused(
        [&, head](const HostTensors& t) { t.out[head + 3] ^= static_cast<Half>(++calls & 1); },
        "repeat", "first at batch 0, head 1, row 0, column 3");
  }
}
