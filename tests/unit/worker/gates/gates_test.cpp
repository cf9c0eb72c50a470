// gates_test.cpp: Checks that each cheating candidate is refused by its gate, and an honest one by
// none.
#include "worker/gates/gates.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "support/fake_device.hpp"

using namespace fatune;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::EndsWith;
using Catch::Matchers::StartsWith;
using test::FakeDevice;
using test::HostTensors;

namespace {

constexpr std::uint16_t kOne = 0x3c00;  // of f16
constexpr std::uint16_t kNan = 0x7e00;

/// The failure of the gate, or its note in `verification`.
MaybeFailure check_physics(const PhysicsFloor& floor, const TimedRun& run,
                           Verification& verification) {
  return take_report(GateId::kPhysics, check_physics(floor, run), verification);
}

/// A wrong result, refused by that gate; nothing of its times is kept.
void refused(const RunReply& reply, const char* gate, const char* why) {
  CHECK(reply.outcome == Outcome::kWrongResult);
  CHECK(gate_of(reply.outcome, reply.reason) == gate);
  CHECK_THAT(reply.reason, ContainsSubstring(why));
  CHECK_FALSE(reply.fatal);
  CHECK_FALSE(reply.hot);
  REQUIRE(reply.verification);
  CHECK_FALSE(reply.verification->passed);
}

void measured(const RunReply& reply) {
  CHECK(reply.reason.empty());
  CHECK(reply.outcome == Outcome::kMeasured);
  CHECK((reply.verification && reply.verification->passed));
}

/// Attention whose output is e4m3, in memory of its own; the second head is of another problem.
class Library : public Executable {
 public:
  explicit Library(FakeDevice& device) : written(device.elements()), device_(device) {
    REQUIRE(device.begin());
    auto memory =
        GuardedBuffer::make(context_, "an fp8 output", device.elements(), kGuardByte, nullptr);
    REQUIRE(memory);
    scratch_.push_back(*std::move(memory));
  }
  Status bind(const TensorAddresses& addresses) override {
    const auto at = [&](const char* name) {
      return std::bit_cast<std::uint16_t*>(addresses.at(name));
    };
    tensors_ = {at("q"), at("k"), at("v"), nullptr, nullptr};
    return {};
  }
  Status queue() override {
    std::vector<std::uint16_t> out(device_.elements());
    std::vector<float> lse(device_.rows());
    HostTensors tensors = tensors_;
    tensors.out = out.data();
    tensors.lse = lse.data();
    device_.attend(tensors);
    auto* const own = std::bit_cast<std::uint8_t*>(scratch_.front().address());
    for (std::size_t i = 0; i < written; ++i) {
      const float other = (i < out.size() / 2 ? factor : 3) * (out[i] == kOne ? of_ones : 1);
      own[i] = static_cast<std::uint8_t>(encode(Dtype::kE4m3, other * decode(Dtype::kF16, out[i])));
    }
    return {};
  }
  std::span<const GuardedBuffer> scratch() const override { return scratch_; }
  bool may_vary() const override { return true; }
  std::optional<OwnOutput> own_output() const override {
    return OwnOutput{&scratch_.front(), Dtype::kE4m3, 1};
  }

  float factor = 1;
  float of_ones = 1;  ///< where every v is 1, so that the output is
  std::size_t written = 0;

 private:
  FakeDevice& device_;
  gpu::Context context_ = *gpu::make_context(0);
  std::vector<GuardedBuffer> scratch_;
  HostTensors tensors_;
};

/// Attention from elsewhere, with something done to its outputs.
class Rival : public Executable {
 public:
  Rival(FakeDevice& device, test::HostKernel after) : device_(device), after_(std::move(after)) {
    REQUIRE(device.begin());
  }
  Status bind(const TensorAddresses& addresses) override {
    const auto at = [&](const char* name) {
      return std::bit_cast<std::uint16_t*>(addresses.at(name));
    };
    tensors_ = {at("q"), at("k"), at("v"), at("out"), std::bit_cast<float*>(addresses.at("lse"))};
    return {};
  }
  Status queue() override {
    device_.attend(tensors_);
    after_(tensors_);
    return {};
  }
  bool writes_lse() const override { return true; }

 private:
  FakeDevice& device_;
  test::HostKernel after_;
  HostTensors tensors_;
};

/// attend() with something done to its outputs is refused.
void wrong_is_refused(test::HostKernel after, const char* gate, const char* why) {
  FakeDevice device;
  refused(device.run(device.wrong(std::move(after))), gate, why);
}

}  // namespace

TEST_CASE("physics passes possible times, fails impossible ones, hot, cold or in a layer") {
  const PhysicsFloor floor{.in_layer = {Micros(3.0), "why in a layer"},
                           .hot = {Micros(2.0), "why hot"},
                           .cold = {Micros(5.0), "why cold"}};
  Verification passed;
  const TimedRun possible{.hot = Micros(2.1), .cold = Micros(5.1), .in_layer = Micros(3.1)};
  CHECK_FALSE(check_physics(floor, possible, passed));
  CHECK(passed.gates == std::vector<PassedGate>{{GateId::kPhysics}});
  Verification failed;
  const MaybeFailure hot = check_physics(floor, {.hot = Micros(1.9), .cold = Micros(9)}, failed);
  REQUIRE(hot);
  CHECK(hot->outcome == Outcome::kWrongResult);
  CHECK(hot->reason.find("1.90 us hot") != std::string::npos);
  const MaybeFailure cold = check_physics(floor, {.cold = Micros(4.9)}, failed);
  REQUIRE(cold);
  CHECK(gate_of(cold->outcome, cold->reason) == "physics");
  const MaybeFailure in_layer =
      check_physics(floor, {.hot = Micros(2.1), .in_layer = Micros(2.9)}, failed);
  REQUIRE(in_layer);
  CHECK(in_layer->reason ==
        "physics: 2.90 us in a layer is less than any right kernel needs, "
        "3.00 us (why in a layer)");
  CHECK(failed.gates.empty());
}

TEST_CASE("without the device's facts physics is not run, never passed") {
  PhysicsFloor floor;
  floor.unknown = "the device does not tell its memory clock";
  Verification verification;
  CHECK_FALSE(check_physics(floor, {.hot = Micros(0.001), .cold = Micros(0.001)}, verification));
  CHECK(verification.gates.empty());
  CHECK(verification.not_run ==
        std::vector<std::string>{"physics: the device does not tell its memory clock"});
}

TEST_CASE("an honest kernel passes every gate") {
  FakeDevice device;
  Program program = device.wrong([](const HostTensors&) {});
  std::vector<PassedGate> gates = gates_of_verify();
  SECTION("launched as usual") {}
  SECTION("as a dependent launch that waits") {
    program.plan.stages[0].dependent = true;
    gates.push_back({GateId::kEarlyStart});
  }
  const RunReply reply = device.run(program);
  measured(reply);
  gates.insert(gates.end(), {{GateId::kPhysics},
                             {GateId::kTimedOutput},
                             {GateId::kSameWork},
                             {GateId::kPersistingL2},
                             {GateId::kCarryOver}});
  CHECK(reply.verification->gates == gates);
  CHECK(reply.verification->not_run.empty());
  CHECK(reply.verification->margin < 1);
  CHECK(reply.verification->seeds == 2);
}

TEST_CASE("accuracy: wrong values are refused by the rule that they break") {
  SECTION("one element") {
    wrong_is_refused([](const HostTensors& t) { t.out[5] = kOne; }, "accuracy",
                     "batch 0, head 0, row 0, column 5");
  }
  SECTION("NaN") {
    wrong_is_refused([](const HostTensors& t) { t.out[70] = kNan; }, "accuracy", "finite");
  }
  SECTION("zeros") {
    wrong_is_refused([](const HostTensors& t) { std::fill_n(t.out, 2 * 32 * 16, 0); }, "accuracy",
                     "accuracy: ");
  }
  SECTION("the output of another head") {
    wrong_is_refused([](const HostTensors& t) { std::copy_n(t.out, 32 * 16, t.out + 32 * 16); },
                     "accuracy", "accuracy: mean: ");
  }
  SECTION("log-sum-exps in base 2") {
    wrong_is_refused(
        [](const HostTensors& t) {
          for (int row = 0; row < 2 * 32; ++row) t.lse[row] /= 0.6931472F;
        },
        "accuracy", "lse");
  }
}

TEST_CASE("accuracy: an fp8 output of a library's own is judged apart, by the heads it has right") {
  FakeDevice device;
  Library library(device);
  Verification found;
  const auto refusal = [&]() {
    const MaybeFailure failure = device.verify(library, &found);
    return failure ? failure->reason : "";
  };
  SECTION("right") {
    CHECK(refusal().empty());
    CHECK(found.passed);
    CHECK(found.gates ==
          std::vector<PassedGate>{
              {GateId::kLaunch}, {GateId::kPoison}, {GateId::kInputs}, {GateId::kGuardBands}});
    CHECK(found.relative_l2 > 0.01);  // e4m3 has three bits of a mantissa
    CHECK(found.relative_l2 < 0.05);
    REQUIRE(found.not_run.size() == 2);
    CHECK_THAT(found.not_run[0], StartsWith("accuracy: writes e4m3, judged apart: off by 0.0"));
  }
  SECTION("without its factor") {
    library.factor = 1.25F;
    CHECK_THAT(refusal(), StartsWith("accuracy: its e4m3 output is off by 0.2"));
  }
  SECTION("zeros") {
    library.factor = 0;
    CHECK_THAT(refusal(), StartsWith("accuracy: its e4m3 output is off by 1 "));
  }
  SECTION("an element of another head is not written") {
    library.written -= 1;
    CHECK(refusal() ==
          "accuracy: 1 of 1024 elements of its e4m3 output are not finite, normal inputs");
  }
}

TEST_CASE("accuracy: what an fp8 output of a library's own loses where v is 1 is said") {
  FakeDevice device;
  device.order.cases[1].distribution = Distribution::kOnesV;
  Library library(device);
  Verification found;
  SECTION("a quarter") {
    library.of_ones = 0.75F;
    CHECK_FALSE(device.verify(library, &found));
    REQUIRE(found.not_run.size() == 3);
    CHECK_THAT(found.not_run[1], StartsWith("accuracy where v is 1, and sums lose most: its e4m3 "
                                            "output is off by 0.25 in the 2-norm"));
    CHECK(found.margin < 1);
  }
  SECTION("all of it, as NaN") {
    library.of_ones = std::numeric_limits<float>::quiet_NaN();
    const MaybeFailure failure = device.verify(library, &found);
    REQUIRE(failure);
    CHECK_THAT(failure->reason, ContainsSubstring("elements of its e4m3 output are not finite"));
  }
  SECTION("half") {
    library.of_ones = 0.5F;
    const MaybeFailure failure = device.verify(library, &found);
    REQUIRE(failure);
    CHECK_THAT(failure->reason, StartsWith("accuracy: its e4m3 output is off by 0.5"));
  }
}

TEST_CASE(
    "accuracy: a rival may have numbers where inputs are none, and says so; no template may") {
  FakeDevice device;
  device.order.cases[1].distribution = Distribution::kNotFinite;
  const test::HostKernel numbers = [](const HostTensors& t) {
    for (std::size_t i = 0; i < 2 * 32 * 16; ++i) {
      if (!std::isfinite(decode(Dtype::kF16, t.out[i]))) t.out[i] = 0;
    }
  };
  SECTION("a rival") {
    Rival rival(device, numbers);
    Verification found;
    CHECK_FALSE(device.verify(rival, &found));
    CHECK(found.passed);
    REQUIRE(found.not_run.size() == 1);
    CHECK_THAT(found.not_run[0], StartsWith("accuracy where inputs are no numbers: not_finite: "));
    CHECK_THAT(found.not_run[0], EndsWith("; its times count"));
  }
  SECTION("a rival that has no numbers where there are some") {
    Rival rival(device, [](const HostTensors& t) { t.out[70] = kNan; });
    const MaybeFailure failure = device.verify(rival, nullptr);
    REQUIRE(failure);
    CHECK_THAT(failure->reason, StartsWith("accuracy: finite: "));
  }
  SECTION("a template") { refused(device.run(device.wrong(numbers)), "accuracy", "not_finite"); }
}

TEST_CASE("timed_output: so is an fp8 output after the timed launches") {
  FakeDevice device;
  Library library(device);
  GateContext gates = device.gates(library);
  SECTION("right") {
    CHECK_FALSE(verify_timed(gates, {}));
    CHECK(gates.verification.passed);
    CHECK(std::ranges::count(gates.verification.gates, GateId::kTimedOutput, &PassedGate::gate) ==
          1);
    CHECK_THAT(gates.verification.not_run.back(), StartsWith("accuracy: writes e4m3"));
  }
  SECTION("zeros") {
    library.factor = 0;
    const MaybeFailure failure = verify_timed(gates, {});
    REQUIRE(failure);
    CHECK_THAT(failure->reason, StartsWith("accuracy: its e4m3 output"));
  }
}

TEST_CASE("accuracy: what lies outside of the inputs is NaN") {
  FakeDevice device;
  const auto keys = static_cast<std::size_t>(device.attention().key_elements());
  refused(device.run(device.wrong([keys](const HostTensors& t) { t.out[0] = t.v[keys]; })),
          "accuracy", "finite");
}

TEST_CASE("accuracy: inputs of every set are looked at") {
  FakeDevice device;
  std::vector<std::uint16_t> remembered;
  refused(device.run(device.wrong([&](const HostTensors& t) {
    if (remembered.empty()) remembered.assign(t.out, t.out + device.elements());
    std::copy(remembered.begin(), remembered.end(), t.out);
  })),
          "accuracy", "uniform inputs");
}

TEST_CASE("poison: outputs that are not written are named") {
  FakeDevice device;
  const std::size_t last = device.elements() - 16;
  SECTION("none at all") {
    refused(device.run(device.program([](const HostTensors&) {})), "poison",
            "1024 of 1024 outputs were never written");
  }
  SECTION("a row") {
    refused(device.run(device.program([&, last](const HostTensors& t) {
      std::vector<std::uint16_t> kept(t.out + last, t.out + last + 16);
      device.attend(t);
      std::copy(kept.begin(), kept.end(), t.out + last);
    })),
            "poison", "16 of 1024 outputs were never written, first at batch 0, head 1, row 31");
  }
  SECTION("a log-sum-exp") {
    refused(device.run(device.program([&](const HostTensors& t) {
      const float kept = t.lse[3];
      device.attend(t);
      t.lse[3] = kept;
    })),
            "poison", "1 of 64 log-sum-exps were never written");
  }
}

TEST_CASE("repeat: outputs that depend on anything but the inputs are refused") {
  FakeDevice device;
  SECTION("on a counter") {
    std::uint16_t calls = 0;
    refused(device.run(device.wrong([&](const HostTensors& t) {
      t.out[8] = static_cast<std::uint16_t>(t.out[8] ^ (++calls & 1));
    })),
            "repeat", "1 of 1024 outputs differ between two runs");
  }
  SECTION("on what the output held before") {
    refused(device.run(device.program([&](const HostTensors& t) {
      const std::uint16_t found = t.out[40];
      device.attend(t);
      if (found == 0x5a5a) t.out[40] ^= 1;
    })),
            "repeat", "head 0, row 2, column 8");
  }
  SECTION("on what scratch held before") {
    Program program = device.wrong([](const HostTensors&) {});
    device.driver.define(
        "candidate",
        std::function([&](const std::uint16_t* q, const std::uint16_t* k, const std::uint16_t* v,
                          std::uint16_t* out, float* lse, const unsigned char* partial) {
          device.attend({q, k, v, out, lse});
          if (*partial == 0x5a) out[0] ^= 1;
        }));
    program.plan.scratch = {{"partial", 64}};
    program.plan.stages[0].arguments.emplace_back("partial");
    refused(device.run(program), "repeat", "differ between two runs");
  }
}

TEST_CASE("an output that is right to the bit is not copied to the host again") {
  FakeDevice device;
  const Program honest = device.wrong([](const HostTensors&) {});
  REQUIRE(device.begin());
  auto copies = [&, before = std::size_t{0}]() mutable {
    const std::size_t now = device.driver.count("cuMemcpyDtoHAsync");
    return now - std::exchange(before, now);
  };
  copies();
  const RunReply first = device.run(honest);
  measured(first);
  const std::size_t of_first = copies();
  const RunReply again = device.run(honest);
  measured(again);
  CHECK(of_first - copies() == 4);  // out and lse of two sets
  CHECK(again.verification->seeds == first.verification->seeds);
  CHECK(again.verification->max_abs_diff == first.verification->max_abs_diff);

  std::uint16_t calls = 0;
  refused(device.run(device.wrong([&](const HostTensors& t) {
    if (++calls > 1) t.out[8] = static_cast<std::uint16_t>(t.out[8] ^ calls);
  })),
          "repeat", "1 of 1024 outputs differ between two runs");
  calls = 0;
  refused(device.run(device.program([&](const HostTensors& t) {
    const std::uint16_t kept = t.out[5];
    device.attend(t);
    if (++calls > 1) t.out[5] = kept;
  })),
          "poison", "1 of 1024 outputs were never written");
}

TEST_CASE("inputs: a kernel that changes one is refused, and the next finds them whole") {
  FakeDevice device;
  refused(device.run(
              device.wrong([](const HostTensors& t) { const_cast<std::uint16_t*>(t.k)[7] ^= 1; })),
          "inputs", "the kernel changed k");
  measured(device.run(device.wrong([](const HostTensors&) {})));
}

TEST_CASE("guard_bands: writes outside of outputs and scratch are found, then mended") {
  FakeDevice device;
  const std::size_t elements = device.elements();
  const std::size_t rows = device.rows();
  SECTION("behind out") {
    refused(device.run(device.wrong([=](const HostTensors& t) { t.out[elements + 6] = kOne; })),
            "guard_bands", "2 bytes behind out were written, the first at +12");
  }
  SECTION("before out") {
    refused(device.run(device.wrong([](const HostTensors& t) { t.out[-1] = kOne; })), "guard_bands",
            "2 bytes before out were written, the first at -2");
  }
  SECTION("behind lse") {
    refused(device.run(device.wrong([=](const HostTensors& t) { t.lse[rows] = 1; })), "guard_bands",
            "4 bytes behind lse");
  }
  SECTION("behind an input") {
    refused(device.run(device.wrong(
                [](const HostTensors& t) { const_cast<std::uint16_t*>(t.q)[2 * 32 * 16] = kOne; })),
            "guard_bands", "behind q");
  }
  // Writes behind its scratch memory, of 64 bytes.
  const auto with_scratch = [&](const std::vector<std::string>& buffers) {
    Program program = device.wrong([](const HostTensors&) {});
    device.driver.define(
        "candidate",
        std::function([&](const std::uint16_t* q, const std::uint16_t* k, const std::uint16_t* v,
                          std::uint16_t* out, float* lse, unsigned char* partial) {
          device.attend({q, k, v, out, lse});
          partial[64] = 1;
        }));
    for (const std::string& name : buffers) program.plan.scratch.push_back({name, 64});
    program.plan.stages[0].arguments.push_back(buffers.back());
    return program;
  };
  SECTION("behind scratch") {
    refused(device.run(with_scratch({"partial"})), "guard_bands", "1 bytes behind partial");
  }
  SECTION("behind the last of many scratch buffers") {
    std::vector<std::string> many;
    for (int i = 0; i < 100; ++i) many.push_back("partial_" + std::to_string(i));
    refused(device.run(with_scratch(many)), "guard_bands", "1 bytes behind partial_99");
  }
  measured(device.run(device.wrong([](const HostTensors&) {})));
}

TEST_CASE("early_start: a dependent launch that does not wait for the kernel in front is refused") {
  FakeDevice device;
  Program program = device.wrong([](const HostTensors&) {});
  program.plan.stages[0].dependent = true;
  device.driver.entries.at("candidate").waits = false;
  refused(device.run(program), "early_start",
          "behind a kernel that still writes its inputs and output");
}

TEST_CASE("early_start: with one set of inputs it is not run, and that is said") {
  FakeDevice device;
  device.order.cases.pop_back();
  Program program = device.wrong([](const HostTensors&) {});
  program.plan.stages[0].dependent = true;
  const RunReply reply = device.run(program);
  measured(reply);
  CHECK(reply.verification->not_run ==
        std::vector<std::string>{"early_start: there is one set of inputs"});
}

TEST_CASE("physics: a kernel that is faster than the device can be is refused") {
  FakeDevice device;
  const auto honest = [&](const HostTensors& t) { device.attend(t); };
  refused(device.run(device.program(honest, "candidate", 1e-5)), "physics",
          "less than any right kernel needs");
}

TEST_CASE("timed_output: a kernel that stops to compute once it was verified is refused") {
  FakeDevice device;
  int calls = 0;
  refused(device.run(device.program([&](const HostTensors& t) {
    if (++calls <= 12) device.attend(t);
  })),
          "timed_output", "after the timed launches, ");
}

TEST_CASE("timed_output: a kernel that knows its inputs by their addresses is refused") {
  FakeDevice device;
  std::map<const void*, std::vector<std::uint16_t>> known;
  refused(device.run(device.wrong([&](const HostTensors& t) {
    const std::vector<std::uint16_t> computed(t.out, t.out + device.elements());
    const auto& answer = known.try_emplace(t.q, computed).first->second;
    std::copy(answer.begin(), answer.end(), t.out);
  })),
          "timed_output", "with other inputs at the same addresses");
}

TEST_CASE("timed_output: a kernel that keeps an output that looks right is refused") {
  FakeDevice device;
  refused(device.run(device.program([&](const HostTensors& t) {
    if (t.out[0] == 0xffff || t.out[0] == 0x5a5a) device.attend(t);
  })),
          "timed_output", "timed_output: ");
}

TEST_CASE("timed_output: single launches after the timed graph are looked at, too") {
  FakeDevice device;
  RunOrder order;
  order.hot = false;
  order.cold = true;
  int calls = 0;
  order.program = device.wrong([&](const HostTensors& t) {
    if (++calls > 6) t.out[9] = kOne;
  });
  refused(device.run(order), "timed_output", "launched once more, ");
}

TEST_CASE("same_work: a kernel that remembers what it computed from the same contents is refused") {
  FakeDevice device;
  const auto keys = static_cast<std::size_t>(device.attention().key_elements());
  std::vector<std::uint16_t> seen, answer;
  std::vector<float> sums;
  const auto remember = [&](const HostTensors& t) {
    std::vector<std::uint16_t> contents(t.q, t.q + device.elements());
    contents.insert(contents.end(), t.k, t.k + keys);
    contents.insert(contents.end(), t.v, t.v + keys);
    if (contents == seen) {
      std::copy(answer.begin(), answer.end(), t.out);
      std::copy(sums.begin(), sums.end(), t.lse);
      return;
    }
    device.attend(t);
    device.driver.now_us += 200;
    seen = std::move(contents);
    answer.assign(t.out, t.out + device.elements());
    sums.assign(t.lse, t.lse + device.rows());
  };
  refused(
      device.run(device.program(remember, "candidate", 200)), "same_work",
      "a launch on inputs that it has not seen takes 400 us, on those of the launch before 200 us");
  measured(device.run(device.wrong([](const HostTensors&) {})));
}

TEST_CASE("same_work: a kernel that remembers from one launch to the next alone is refused") {
  FakeDevice device;
  device.driver.define("hold", std::function([&](unsigned long long ns) {
                         device.driver.now_us += static_cast<double>(ns) / 1e3;
                       }));
  std::vector<std::uint16_t> seen;
  double last_end = 0;
  const auto remember = [&](const HostTensors& t) {
    device.attend(t);
    std::vector<std::uint16_t> now(t.q, t.q + device.elements());
    const bool knows = device.driver.now_us - last_end < 1000 && now == seen;
    if (!knows) device.driver.now_us += 10;
    seen = std::move(now);
    last_end = device.driver.now_us;
  };
  refused(device.run(device.program(remember, "candidate", 20)), "same_work",
          "takes 30.0 us, on those of the launch before 20.0 us");
}

TEST_CASE("same_work: a kernel that takes inputs of other signs for the same is refused") {
  // A series has one launch of the long kernel, and an even number of the short one.
  const double launch_us = GENERATE(200.0, 20.0);
  FakeDevice device;
  std::vector<std::uint16_t> answer;
  std::uint16_t seen = 0;
  const auto remember = [&](const HostTensors& t) {
    device.attend(t);
    const auto size = static_cast<std::uint16_t>(t.v[1] & 0x7fff);
    if (size != seen) answer.assign(t.out, t.out + device.elements());
    seen = size;
    std::copy(answer.begin(), answer.end(), t.out);
  };
  refused(device.run(device.program(remember, "candidate", launch_us)), "same_work",
          "on inputs that it has not seen, ");
}

/// Right, in 20 us; `longer_us` more unless its own launch was just before.
RunReply run_longer_apart(FakeDevice& device, double longer_us) {
  std::uint16_t seen = 0;
  double last_end = 0;
  return device.run(device.program(
      [&](const HostTensors& t) {
        const bool poisoned = t.out[0] == 0xffff || t.out[0] == 0x5a5a;
        if (poisoned || t.q[0] != seen || device.driver.now_us - last_end > 25) {
          device.attend(t);
          device.driver.now_us += longer_us;
        }
        seen = t.q[0];
        last_end = device.driver.now_us;
      },
      "candidate", 20));
}

TEST_CASE("same_work: a kernel that does nothing right behind itself is refused") {
  FakeDevice device;
  refused(run_longer_apart(device, 380), "same_work",
          "a launch behind its own copies takes 20.0 us, behind another kernel 400 us");
}

TEST_CASE("same_work: what its tensors take from memory is not held against a kernel") {
  constexpr double kLongerUs = 15;
  FakeDevice device;
  SECTION("of a fast memory: it took longer for something else") {
    refused(run_longer_apart(device, kLongerUs), "same_work", "behind another kernel 35.0 us");
  }
  SECTION("of a slow one") {
    device.driver.memory_clock_khz = 300;
    measured(run_longer_apart(device, kLongerUs));
  }
}

TEST_CASE("same_work: what a pass behind a launch takes longer is not held against a kernel") {
  FakeDevice device;
  bool in_front = false;  // of the pass: its lines are in no cache
  FakeDriver::Entry& pass = device.driver.entries.at("alter_rows");
  pass.bind = [&, usual = pass.bind](void** values) {
    return [&, alter = usual(values)] {
      alter();
      if (std::exchange(in_front, false)) device.driver.now_us += 30;
    };
  };
  measured(device.run(device.program(
      [&](const HostTensors& t) {
        device.attend(t);
        in_front = true;
      },
      "candidate", 20)));
}

TEST_CASE("same_work: what a pass that changes inputs takes longer is not held against a kernel") {
  constexpr double kPassUs = 18, kHiddenUs = 15;  // alone, and less behind a launch
  FakeDevice device;
  double pass_longer_us = 0, launch_longer_us = 0;  // with inputs that changed
  bool hides = false;
  FakeDriver::Entry& pass = device.driver.entries.at("alter_rows");
  pass.bind = [&, usual = pass.bind](void** values) {
    const auto* signs = static_cast<const std::uint64_t*>(values[4]);
    const bool changes =
        std::any_of(signs, signs + 4, [](std::uint64_t bits) { return bits != 0; });
    return [&, changes, alter = usual(values)] {
      alter();
      device.driver.now_us += kPassUs + (changes ? pass_longer_us : 0);
      if (std::exchange(hides, false)) device.driver.now_us -= kHiddenUs;
    };
  };
  std::vector<std::uint16_t> seen;
  const auto attend = [&](const HostTensors& t) {
    device.attend(t);
    std::vector<std::uint16_t> now(t.q, t.q + device.elements());
    if (std::exchange(seen, now) != now) device.driver.now_us += launch_longer_us;
    hides = true;
  };
  SECTION("the pass takes longer") {
    pass_longer_us = 0.25;
    measured(device.run(device.program(attend, "candidate", 20)));
  }
  SECTION("the launch does") {
    launch_longer_us = 8;
    refused(device.run(device.program(attend, "candidate", 20)), "same_work",
            "a launch on inputs that it has not seen takes ");
  }
}

TEST_CASE("same_work: gaps that a busy host leaves are not held against a kernel") {
  FakeDevice device;
  const auto short_ns = 150'000ULL, long_ns = 3'000'000ULL;
  unsigned long long held_ns = 0;
  device.driver.define("hold", std::function([&](unsigned long long ns) { held_ns = ns; }));
  double late_us = 30;
  const auto attend = [&](const HostTensors& t) {
    device.attend(t);
    if (held_ns == short_ns) device.driver.now_us += late_us;
  };
  measured(device.run(device.program(attend, "candidate", 20)));
  CHECK(held_ns == long_ns);
  held_ns = 0;
  late_us = 0;
  measured(device.run(device.program(attend, "candidate", 20)));
  CHECK(held_ns == short_ns);
}

TEST_CASE("same_work: where only cold launches are timed, unseen inputs are tried all the same") {
  FakeDevice device;
  RunOrder order;
  order.hot = false;
  order.cold = true;
  order.program = device.wrong([](const HostTensors&) {});
  const RunReply reply = device.run(order);
  measured(reply);
  CHECK(std::ranges::count(reply.verification->gates, GateId::kSameWork, &PassedGate::gate) == 1);
}

TEST_CASE("persisting_l2: a host that sets lines aside is refused, and they are given back") {
  FakeDevice device;
  Program program = device.wrong([](const HostTensors&) {});
  program.plan.persisting_window = "q";
  refused(device.run(program), "persisting_l2", "of the L2 cache were set aside");
  CHECK(device.driver.persisting_bytes == 0);
  measured(device.run(device.wrong([](const HostTensors&) {})));
}

TEST_CASE("carry_over: a kernel that empties the cache of its neighbour is refused") {
  FakeDevice device;
  bool emptied = false;
  device.driver.define("read_slowly", std::function([&](const void*, unsigned long long,
                                                        unsigned long long* findings) {
                         findings[0] += emptied ? 2500 : 1000;
                         emptied = false;
                       }));
  const Program program = device.wrong([&](const HostTensors&) { emptied = true; });
  refused(device.run(program), "carry_over",
          "takes 2.50 to 2.50 times as long behind it as behind a kernel that moves as many bytes");
}

TEST_CASE("carry_over: a little noise in the neighbour's reads is no finding") {
  FakeDevice device;
  int reads = 0;
  device.driver.define(
      "read_slowly",
      std::function([&](const void*, unsigned long long, unsigned long long* findings) {
        findings[0] += ++reads % 6 == 0 ? 1080 : 1000;  // the sixth is the one behind the candidate
      }));
  measured(device.run(device.wrong([](const HostTensors&) {})));
  CHECK(reads == 2 * 10 * 3);
}

TEST_CASE("carry_over: what displaces the neighbour by right is not judged, and that is said") {
  FakeDevice device;
  Program program = device.wrong([](const HostTensors&) {});
  program.plan.scratch = {{"partial", 16 << 10}};
  const RunReply reply = device.run(program);
  measured(reply);
  CHECK(reply.verification->not_run ==
        std::vector<std::string>{"carry_over: tensors and scratch memory are 22.2 KiB, more than "
                                 "9.6 KiB, 15 % of the L2 cache"});
}

TEST_CASE("launch: what the driver refuses is the candidate's launch error") {
  FakeDevice device;
  Program program = device.wrong([](const HostTensors&) {});
  RunReply reply;
  SECTION("a launch") {
    device.driver.entries.at("candidate").refusal = CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
    reply = device.run(program);
    CHECK_THAT(reply.reason, StartsWith("cannot launch grid 1,1,1, block 128,1,1"));
  }
  SECTION("more shared memory than there is") {
    program.plan.stages[0].shared_bytes = 300 << 10;
    reply = device.run(program);
    CHECK_THAT(reply.reason, StartsWith("cannot allow 307200 bytes of dynamic shared memory"));
  }
  SECTION("an entry that is not there") {
    program.plan.stages[0].entry = "other";
    reply = device.run(program);
    CHECK_THAT(reply.reason, StartsWith("cannot find the entry 'other' in the cubin"));
  }
  CHECK(reply.outcome == Outcome::kLaunchError);
  CHECK_FALSE(reply.fatal);
  measured(device.run(device.wrong([](const HostTensors&) {})));
}

TEST_CASE("launch: a kernel that breaks the context ends the process") {
  FakeDevice device;
  const RunReply reply = device.run(
      device.wrong([&](const HostTensors&) { device.driver.broken = CUDA_ERROR_ILLEGAL_ADDRESS; }));
  CHECK(reply.outcome == Outcome::kCrashed);
  CHECK(reply.fatal);
  CHECK_THAT(reply.reason, ContainsSubstring("CUDA_ERROR_ILLEGAL_ADDRESS (700)"));
}

TEST_CASE("launch: a kernel that does not end is given up, at once or while it is timed") {
  FakeDevice device;
  int calls = 0;
  const int last = GENERATE(0, 15);
  const RunReply reply =
      device.run(device.wrong([&](const HostTensors&) { device.driver.hung = ++calls > last; }));
  CHECK(reply.outcome == Outcome::kTimeout);
  CHECK(reply.fatal);
  CHECK_THAT(reply.reason, StartsWith("a launch had not finished after "));
}

TEST_CASE("a margin near the limit is looked at with more inputs") {
  FakeDevice device;
  const std::uint16_t* first = nullptr;
  float offset = 0;
  const Program program = device.wrong([&](const HostTensors& t) {
    if (first == nullptr) first = t.q;
    if (t.q == first) t.lse[0] += offset;
  });
  Verification found;
  REQUIRE_FALSE(device.verify(program, &found));
  CHECK(found.seeds == 2);
  offset = 1;
  const MaybeFailure failure = device.verify(program, &found);
  REQUIRE(failure);
  REQUIRE(found.worst_rule == "lse");
  offset = static_cast<float>(0.95 / found.margin);
  CHECK_FALSE(device.verify(program, &found));
  CHECK(found.margin > 0.9);
  CHECK(found.seeds == 6);
}

TEST_CASE("more inputs that cannot be made are not run, which is not the candidate's fault") {
  FakeDevice device;
  const std::uint16_t* first = nullptr;
  float offset = 1;
  const Program program = device.wrong([&](const HostTensors& t) {
    if (first == nullptr) first = t.q;
    if (t.q == first) t.lse[0] += offset;
    if (offset < 1) device.driver.failing["cuMemAlloc"] = CUDA_ERROR_OUT_OF_MEMORY;
  });
  Verification found;
  REQUIRE(device.verify(program, &found));
  offset = static_cast<float>(0.95 / found.margin);
  REQUIRE_FALSE(device.verify(program, &found));
  CHECK(found.seeds == 2);
  REQUIRE(found.not_run.size() == 1);
  CHECK_THAT(found.not_run[0], StartsWith("accuracy, more seeds: "));
}
