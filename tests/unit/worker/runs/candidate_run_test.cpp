// candidate_run_test.cpp: Checks times, gates and outcomes of a device worker on a fake driver.
#include <filesystem>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <nlohmann/json.hpp>

#include "core/fields.hpp"
#include "core/file.hpp"
#include "support/fake_device.hpp"
#include "support/temporary_folder.hpp"
#include "worker/gates/gates.hpp"

using namespace fatune;
using Catch::Matchers::WithinRel;
using test::FakeDevice;
using test::HostTensors;

namespace {

RunOrder order_of(const Program& program) {
  RunOrder order;
  order.program = program;
  return order;
}

Program honest(FakeDevice& device, const char* entry = "candidate", double us = FakeDevice::kUs) {
  return device.program([&device](const HostTensors& t) { device.attend(t); }, entry, us);
}

}  // namespace

TEST_CASE("a candidate's times are those of its launches, hot and cold") {
  FakeDevice device;
  SECTION("one launch in a replay") {
    const RunReply reply = device.run(honest(device));
    REQUIRE(reply.outcome == Outcome::kMeasured);
    REQUIRE(reply.hot);
    CHECK_THAT(reply.hot->median_us, WithinRel(400.0, 1e-4));
    CHECK(reply.hot->samples == 5);
    CHECK(reply.hot->launches_per_sample == 1);
    REQUIRE(reply.cold);
    CHECK_THAT(reply.cold->median_us, WithinRel(400.0, 1e-4));
  }
  SECTION("several launches in a replay") {
    const RunReply reply = device.run(order_of(honest(device, "candidate", 150)));
    REQUIRE(reply.hot);
    CHECK_THAT(reply.hot->median_us, WithinRel(150.0, 1e-4));
    CHECK(reply.hot->launches_per_sample == 3);
    CHECK_FALSE(reply.cold);
  }
  CHECK(device.phases == std::vector<std::string>{"verifying", "timing"});
}

TEST_CASE("a candidate's resources are asked from the driver") {
  FakeDevice device;
  const RunReply reply = device.run(honest(device));
  REQUIRE(reply.resources);
  CHECK(reply.resources->registers == 64);
  CHECK(reply.resources->threads == 128);
  CHECK(reply.resources->blocks_per_sm == 2);
  CHECK(reply.resources->blocks == 1);
}

TEST_CASE("of a wrong output it is told where it is wrong, if asked; of a right one, nothing") {
  FakeDevice device;
  RunOrder order;
  order.locate_errors = true;
  order.program = honest(device);
  CHECK(device.run(order).regions.empty());
  order.program = device.program([&device](const HostTensors& t) {
    device.attend(t);
    t.out[0] = 0x4900;  // 10
  });
  CHECK(device.run(order.program).regions.empty());
  const RunReply reply = device.run(order);
  CHECK(reply.outcome == Outcome::kWrongResult);
  REQUIRE_FALSE(reply.regions.empty());
  CHECK(reply.regions.front().where == "all of out");
  CHECK(reply.regions.front().wrong == 1);
  CHECK(reply.regions.front().largest > 5);
}

TEST_CASE("a candidate that is far slower than the best is given up after a few samples") {
  FakeDevice device;
  RunOrder order = order_of(honest(device));
  order.best_hot_us = 150;
  const RunReply reply = device.run(order);
  CHECK(reply.outcome == Outcome::kPruned);
  CHECK(reply.reason == "given up after 3 samples at 400 us: more than twice the best");
}

TEST_CASE("without verification only the launch is looked at") {
  FakeDevice device;
  RunOrder order = order_of(device.program([](const HostTensors&) {}));
  order.verify = false;
  const RunReply reply = device.run(order);
  CHECK(reply.outcome == Outcome::kMeasured);
  REQUIRE(reply.verification);
  CHECK(reply.verification->skipped);
  CHECK_FALSE(reply.verification->passed);
  CHECK(reply.verification->gates == std::vector<PassedGate>{{GateId::kLaunch}});
}

TEST_CASE("without times to take a candidate is verified alone") {
  FakeDevice device;
  RunOrder order = order_of(honest(device));
  order.hot = false;
  const RunReply reply = device.run(order);
  CHECK(reply.outcome == Outcome::kMeasured);
  CHECK_FALSE(reply.hot);
  CHECK(device.phases == std::vector<std::string>{"verifying"});
  CHECK(reply.verification->gates == gates_of_verify());
}

TEST_CASE("rounds give every contestant a time a round, whatever the order") {
  FakeDevice device;
  RoundsOrder order;
  order.contestants = {honest(device, "slow", 800), honest(device, "fast", 400)};
  order.rounds = 6;
  const auto reply = device.rounds(order);
  REQUIRE(reply);
  REQUIRE(reply->rows.size() == 2);
  for (std::size_t i = 0; i < 2; ++i) {
    const RoundsRow& row = reply->rows[i];
    CHECK(row.outcome == Outcome::kMeasured);
    CHECK(row.hot_us.size() == 6);
    CHECK(row.cold_us.size() == 6);
    CHECK_THAT(row.hot_us[5], WithinRel(i == 0 ? 800.0 : 400.0, 1e-4));
    CHECK_THAT(row.cold_us[0], WithinRel(i == 0 ? 800.0 : 400.0, 1e-4));
    CHECK(row.gates == std::vector<PassedGate>{{GateId::kPhysics},
                                               {GateId::kTimedOutput},
                                               {GateId::kSameWork},
                                               {GateId::kPersistingL2},
                                               {GateId::kCarryOver}});
  }
  CHECK(device.phases == std::vector<std::string>{"final 0/6", "final 4/6", "final, verifying 0/2",
                                                  "final, verifying 1/2"});
}

TEST_CASE("what the timed graphs leave after the rounds must still be right") {
  FakeDevice device;
  int calls = 0;
  const Program tired = device.program(
      [&](const HostTensors& t) {
        if (++calls < 20) device.attend(t);
      },
      "tired");
  RoundsOrder order;
  order.contestants = {tired, honest(device)};
  order.rounds = 5;
  const auto reply = device.rounds(order);
  REQUIRE(reply);
  CHECK(reply->rows[0].outcome == Outcome::kWrongResult);
  CHECK(gate_of(reply->rows[0].outcome, reply->rows[0].reason) == "timed_output");
  CHECK(reply->rows[1].outcome == Outcome::kMeasured);
}

TEST_CASE(
    "the graph of plain launches, too, must leave what is right, in a time that is possible") {
  FakeDevice device;
  RoundsOrder order;
  order.rounds = 5;
  const auto refused = [&](const test::HostKernel& kernel, const char* gate) {
    Program program = device.program(kernel);
    program.plan.stages[0].dependent = true;
    order.contestants = {program};
    const auto reply = device.rounds(order);
    REQUIRE(reply);
    CHECK(reply->rows[0].plain_us.size() == 5);
    CHECK(reply->rows[0].outcome == Outcome::kWrongResult);
    CHECK(gate_of(reply->rows[0].outcome, reply->rows[0].reason) == gate);
  };
  refused(
      [&](const HostTensors& t) {
        if (device.driver.runs_dependent) device.attend(t);
      },
      "timed_output");
  refused(
      [&](const HostTensors& t) {
        device.attend(t);
        if (!device.driver.runs_dependent) device.driver.now_us -= FakeDevice::kUs - 1e-5;
      },
      "physics");
}

TEST_CASE("what one contestant spoils is not held against the others") {
  FakeDevice device;
  int calls = 0;
  const Program offender = device.program(
      [&](const HostTensors& t) {
        device.attend(t);
        if (++calls > 20) t.out[device.elements() + 6] = 0x3c00;
      },
      "offender");
  RoundsOrder order;
  order.contestants = {honest(device, "first"), offender, honest(device, "last")};
  order.rounds = 5;
  const auto reply = device.rounds(order);
  REQUIRE(reply);
  CHECK(reply->rows[0].outcome == Outcome::kMeasured);
  CHECK(reply->rows[1].outcome == Outcome::kWrongResult);
  CHECK(gate_of(reply->rows[1].outcome, reply->rows[1].reason) == "guard_bands");
  CHECK(reply->rows[2].outcome == Outcome::kMeasured);
}

TEST_CASE("a contestant for which there is no memory beside the others costs its row alone") {
  FakeDevice device;
  bool full = true;
  const Program first = device.program(
      [&](const HostTensors& t) {
        device.attend(t);
        if (full) device.driver.failing["cuMemAlloc"] = CUDA_ERROR_OUT_OF_MEMORY;
      },
      "first");
  Program large = honest(device, "large");
  device.driver.define("large", std::function([&](const std::uint16_t* q, const std::uint16_t* k,
                                                  const std::uint16_t* v, std::uint16_t* out,
                                                  float* lse, unsigned char*) {
                         device.attend({q, k, v, out, lse});
                       }));
  large.plan.scratch = {{"partial", 64}};
  large.plan.stages[0].arguments.emplace_back("partial");
  Program last = device.program(
      [&](const HostTensors& t) {
        full = false;
        device.driver.failing.clear();
        device.attend(t);
      },
      "last");
  RoundsOrder order;
  order.contestants = {first, large, last};
  order.rounds = 5;
  const auto reply = device.rounds(order);
  REQUIRE(reply);
  CHECK(reply->rows[0].hot_us.size() == 5);
  CHECK(reply->rows[1].outcome == Outcome::kLaunchError);
  CHECK(reply->rows[1].hot_us.empty());
  CHECK(reply->rows[2].hot_us.size() == 5);
}

TEST_CASE(
    "long launches are timed once a round, far longer ones than the fastest in a few rounds only") {
  FakeDevice device;
  device.order.kernel_deadline_s = 1;
  RoundsOrder order;
  order.contestants = {honest(device, "long", 30'000), honest(device, "far_longer", 400'000)};
  order.rounds = 30;
  order.verify = false;
  const auto reply = device.rounds(order);
  REQUIRE(reply);
  CHECK(reply->rows[0].hot_us.size() == 30);
  CHECK(reply->rows[0].cold_us == reply->rows[0].hot_us);
  CHECK(reply->rows[1].hot_us.size() == 10);
}

TEST_CASE("a template that fails in the rounds is an error") {
  FakeDevice device;
  RoundsOrder order;
  order.contestants = {honest(device)};
  SECTION("a refused launch") {
    device.driver.entries.at("candidate").refusal = CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
    const auto reply = device.rounds(order);
    REQUIRE_FALSE(reply);
    CHECK(reply.error().message.starts_with("cannot launch grid"));
  }
  SECTION("a launch that does not end") {
    int calls = 0;
    order.contestants = {
        device.program([&](const HostTensors&) { device.driver.hung = ++calls > 10; })};
    const auto reply = device.rounds(order);
    REQUIRE_FALSE(reply);
    CHECK(reply.error().message.starts_with("a launch had not finished after "));
  }
}

TEST_CASE("an implementation from elsewhere that fails is a failed row, and the rest goes on") {
  FakeDevice device;
  const test::TemporaryFolder folder;
  const auto python = folder / "python";
  REQUIRE(replace_file(python, "#!/bin/sh\nexec python3 '" FATUNE_SOURCE_DIR
                               "/tests/unit/worker/baselines/fake_torch_helper.py' well '" +
                                   (folder / "starts").string() + "'\n"));
  std::filesystem::permissions(python, std::filesystem::perms::owner_all);
  const auto of_torch = [&](const std::string& impl, const std::string& backend) {
    Program made;
    made.outside = OutsideProgram{impl, {{"python", python.string()}, {"backend", backend}}};
    return made;
  };
  RoundsOrder order;
  order.contestants = {of_torch("torch:flash", "flash"), of_torch("torch:efficient", "efficient"),
                       of_torch("python:mine:attend", "python:/mine.py:attend"), honest(device)};
  order.rounds = 5;
  const auto reply = device.rounds(order);
  REQUIRE(reply);
  CHECK(reply->rows[0].outcome == Outcome::kMeasured);
  CHECK(reply->rows[0].hot_us == std::vector<double>(5, 10.5));
  CHECK(reply->rows[0].gates == std::vector<PassedGate>{{GateId::kPhysics}});
  CHECK(reply->rows[1].outcome == Outcome::kLaunchError);
  CHECK(reply->rows[1].reason == "PyTorch's efficient cannot do this: too many heads");
  CHECK(reply->rows[2].outcome == Outcome::kUnavailable);
  CHECK(reply->rows[2].reason == "there is no file mine.py");
  CHECK(reply->rows[2].hot_us.empty());
  CHECK(reply->rows[3].hot_us.size() == 5);
}
