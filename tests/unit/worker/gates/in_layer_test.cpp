// in_layer_test.cpp: Checks the gate for candidates that cheat only between the products of a
// layer.
#include <algorithm>
#include <bit>
#include <memory>
#include <set>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "support/fake_device.hpp"

using namespace fatune;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::WithinRel;
using test::FakeDevice;
using test::HostKernel;
using test::HostTensors;

namespace {

constexpr std::uint16_t kOther = 0x3c00;  // of f16
constexpr std::uint16_t kNotANumber = 0x7e00;

class Varying : public LoadedProgram {
 public:
  explicit Varying(LoadedProgram program) : LoadedProgram(std::move(program)) {}
  bool may_vary() const override { return true; }
};

/// All layers of a replay are one wait, and many.
void allow_layers(FakeDevice& device) {
  device.order.kernel_deadline_s = 10;
  Attention& problem = device.order.problem.as_attention();
  problem.heads = 1;
  problem.seq_q = problem.seq_kv = 16;
}

RunReply run_in_layer(FakeDevice& device, const Program& program) {
  RunOrder order;
  order.program = program;
  order.in_layer = true;
  return device.run(order);
}

RoundsRow rounds_of(FakeDevice& device, const Program& program) {
  RoundsOrder order;
  order.contestants = {program};
  order.rounds = 5;
  order.in_layer = true;
  const auto reply = device.rounds(order);
  REQUIRE(reply);
  return reply->rows.at(0);
}

/// attend(), and then `other` where out lies elsewhere than at its first launch.
Program elsewhere(FakeDevice& device, HostKernel other) {
  const auto usual = std::make_shared<void*>(nullptr);  // launches have copies of a kernel
  return device.program([&device, other = std::move(other), usual](const HostTensors& tensors) {
    device.attend(tensors);
    if (*usual == nullptr) *usual = tensors.out;
    if (*usual != tensors.out) other(tensors);
  });
}

void refused_there(const RunReply& reply, const char* why) {
  CHECK(reply.outcome == Outcome::kWrongResult);
  CHECK(gate_of(reply.outcome, reply.reason) == "in_layer");
  CHECK_THAT(reply.reason, ContainsSubstring(why));
  CHECK_FALSE(reply.in_layer);
  REQUIRE(reply.verification);
  CHECK_FALSE(reply.verification->passed);
}

bool has(const std::vector<PassedGate>& gates, GateId gate) {
  return std::ranges::find(gates, gate, &PassedGate::gate) != gates.end();
}

}  // namespace

TEST_CASE("in_layer: an honest kernel passes, in the search and in the rounds") {
  FakeDevice device;
  allow_layers(device);
  const RunReply reply = run_in_layer(device, device.wrong([](const HostTensors&) {}));
  CHECK(reply.reason.empty());
  REQUIRE(reply.in_layer);
  CHECK_THAT(reply.in_layer->median_us, WithinRel(FakeDevice::kUs, 1e-3));
  CHECK(has(reply.verification->gates, GateId::kInLayer));
  const RoundsRow row = rounds_of(device, device.wrong([](const HostTensors&) {}));
  // A worker that is silent counts as hung.
  CHECK(std::ranges::count(device.phases, "final, in a layer 4/5") > 0);
  CHECK(row.outcome == Outcome::kMeasured);
  CHECK(row.in_layer_us.size() == 5);
  CHECK(has(row.gates, GateId::kInLayer));
}

TEST_CASE("in_layer: what a kernel does between two products alone is found, then mended") {
  FakeDevice device;
  allow_layers(device);
  SECTION("it writes something else") {
    refused_there(
        run_in_layer(device, elsewhere(device, [](const HostTensors& t) { t.out[3] = kOther; })),
        "between two products the output is not that of a launch by itself");
  }
  SECTION("it writes another log-sum-exp") {
    refused_there(
        run_in_layer(device, elsewhere(device, [](const HostTensors& t) { t.lse[3] += 1; })),
        "between two products the output is not that of a launch by itself");
  }
  SECTION("it writes behind its output") {
    const std::size_t end = device.elements();
    refused_there(
        run_in_layer(device, elsewhere(device, [=](const HostTensors& t) { t.out[end] = kOther; })),
        "between two products, 2 bytes behind out were written");
  }
  SECTION("it changes an input") {
    refused_there(run_in_layer(device, elsewhere(device,
                                                 [](const HostTensors& t) {
                                                   const_cast<std::uint16_t*>(t.k)[5] ^= 1;
                                                 })),
                  "between two products the kernel changed k");
  }
  const RunReply next = run_in_layer(device, device.wrong([](const HostTensors&) {}));
  CHECK(next.reason.empty());
}

TEST_CASE("in_layer: cached keys are put back after a kernel that changed them") {
  FakeDevice device;
  allow_layers(device);
  device.order.problem.as_attention().seq_kv = 24;
  refused_there(run_in_layer(device, elsewhere(device,
                                               [](const HostTensors& t) {
                                                 const_cast<std::uint16_t*>(t.v)[5] = kOther;
                                               })),
                "between two products the kernel changed v");
  CHECK(run_in_layer(device, device.wrong([](const HostTensors&) {})).reason.empty());
}

TEST_CASE(
    "in_layer: a kernel that is right on the inputs that it knows alone falls in the rounds") {
  FakeDevice device;
  allow_layers(device);
  REQUIRE(device.begin());
  std::set<int> known;  // sizes of the first query's elements: the gates turn signs
  const auto first = [](const HostTensors& t) { return t.q[0] & 0x7fff; };
  for (const InputSet& set : device.problem().sets())
    known.insert(first({.q = std::bit_cast<const std::uint16_t*>(set.inputs[0].address())}));
  const HostKernel lazy = [&](const HostTensors& t) {
    device.attend(t);
    if (!known.contains(first(t))) std::fill_n(t.out, device.elements(), std::uint16_t{0});
  };
  const RunReply searched = run_in_layer(device, device.program(lazy));
  CHECK(searched.reason.empty());  // the same zeros by itself and in the layer
  const RoundsRow row = rounds_of(device, device.program(lazy));
  CHECK(row.outcome == Outcome::kWrongResult);
  CHECK(gate_of(row.outcome, row.reason) == "in_layer");
  CHECK_THAT(row.reason, ContainsSubstring("on a layer's inputs, accuracy: "));
}

TEST_CASE("in_layer: outputs of a library whose runs may differ are judged each by itself") {
  FakeDevice device;
  allow_layers(device);
  REQUIRE(device.begin());
  std::uint16_t other = 0;  // that the first element of out becomes in a layer
  const Program program = elsewhere(device, [&](const HostTensors& t) {
    t.out[0] = other == 0 ? static_cast<std::uint16_t>(t.out[0] ^ 1) : other;
  });
  const auto context = gpu::make_context(0);
  REQUIRE(context);
  auto loaded = LoadedProgram::load(*context, nullptr, program, device.order.problem);
  REQUIRE(loaded);
  Varying library(*std::move(loaded));
  REQUIRE(library.bind(device.problem().addresses(device.problem().sets().front())));
  REQUIRE(library.queue());
  Verification found;
  SECTION("by the last bit, which is said") {
    CHECK_FALSE(device.check_in_layer(library, &found));
    CHECK(found.not_run ==
          std::vector<std::string>{"in_layer: between two products the output is not that of a "
                                   "launch by itself, as of one whose runs may differ"});
  }
  SECTION("by more than that, which is wrong") {
    other = kNotANumber;
    const MaybeFailure failure = device.check_in_layer(library, &found);
    REQUIRE(failure);
    CHECK(gate_of(failure->outcome, failure->reason) == "in_layer");
    CHECK_THAT(failure->reason, ContainsSubstring("a launch by itself, and is wrong: "));
  }
}

TEST_CASE("in_layer: packed queries are not the keys, where as many weights are one block") {
  FakeDevice device;
  allow_layers(device);
  device.order.problem = Attention{.heads = 16, .kv_heads = 16, .head_dim = 64, .lse = true};
  const auto packed = parse_layouts("packed");
  REQUIRE(packed);
  device.order.problem.as_attention().layouts = *packed;
  REQUIRE(device.begin());
  const auto layer = device.problem().layer();
  REQUIRE(layer);
  const auto inputs = (*layer)->last_inputs();
  REQUIRE(inputs.size() == 1);
  const auto* const q = std::bit_cast<const std::uint16_t*>(inputs[0]->address());
  const auto hidden = static_cast<std::size_t>((*layer)->plan().hidden);
  REQUIRE(hidden == 1024);
  const auto same = [&](std::size_t other) {
    std::size_t count = 0;
    for (std::size_t i = 0; i < hidden; ++i) count += q[i] == q[other + i];
    return count;
  };
  CHECK(same(hidden) < hidden / 10);      // k
  CHECK(same(2 * hidden) < hidden / 10);  // v
}
