// filled_output_test.cpp: Runs kernels that read and write an output through the gates.
#include <algorithm>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "core/file.hpp"
#include "support/fake_device.hpp"
#include "support/temporary_folder.hpp"

using namespace fatune;
using Catch::Matchers::StartsWith;

namespace {

constexpr std::size_t kElements = 64;

/// A device with the operation y += x, of f32.
struct Adder : test::FakeDevice {
  using Kernel = std::function<void(const float* x, float* y)>;

  Adder() {
    order.problem = CustomProblem{.operation = "add"};
    order.custom.emplace().tensors = {{"x", std::nullopt, {kElements}, false, {}},
                                      {"y", std::nullopt, {kElements}, true, {}}};
    order.custom->tensors[1].filled = true;
    order.custom->tolerance = DeclaredTolerance{1e-6, 0, ""};
    order.reference = adding("reference", add);
    order.low_precision = {};
  }
  static void add(const float* x, float* y) {
    for (std::size_t i = 0; i < kElements; ++i) y[i] += x[i];
  }
  Program adding(const std::string& entry, Kernel kernel) {
    driver.define(entry, std::move(kernel)).us = kUs;
    Program program = order.reference;
    program.plan.stages[0].entry = entry;
    program.plan.stages[0].arguments = {"x", "y"};
    return program;
  }
  /// An expression, for the helper's own files on a stand-in for PyTorch.
  Program expression(const std::string& text) {
    const auto python = folder / "python";
    const std::string tests = FATUNE_SOURCE_DIR "/tests/unit/worker/baselines/stand_in";
    REQUIRE(replace_file(python, "#!/bin/sh\nPYTHONDONTWRITEBYTECODE=1 PYTHONPATH='" + tests +
                                     "' exec python3 \"$@\"\n"));
    std::filesystem::permissions(python, std::filesystem::perms::owner_all);
    Program made;
    made.outside = OutsideProgram{text, {{"python", python.string()}, {"backend", text}}};
    return made;
  }

  test::TemporaryFolder folder;
};

}  // namespace

TEST_CASE("an output that is read holds its fill before each checked launch") {
  Adder device;
  const RunReply reply = device.run(device.adding("candidate", Adder::add));
  CHECK(reply.reason.empty());
  CHECK(reply.outcome == Outcome::kMeasured);
  REQUIRE(reply.verification);
  CHECK(reply.verification->passed);
  CHECK(std::ranges::count(
            reply.verification->not_run,
            "timed_output: launches of a graph read what the launch before has written") == 1);
}

TEST_CASE("elements of files are the same for every seed, so they are checked once") {
  Adder device;
  test::TemporaryFolder folder;
  REQUIRE(write_below(folder.path(), "x.bin", std::string(kElements * 4, '\0')));
  for (TensorPlan& tensor : device.order.custom->tensors)
    tensor.fill = {.kind = Fill::Kind::kFile, .file = (folder.path() / "x.bin").string()};
  const RunReply reply = device.run(device.adding("candidate", Adder::add));
  CHECK(reply.outcome == Outcome::kMeasured);
  REQUIRE(reply.verification);
  CHECK(reply.verification->seeds == 1);
  CHECK(device.problem().sets().size() == 1);
}

TEST_CASE("a kernel that does not read the output is refused by accuracy") {
  Adder device;
  const RunReply reply = device.run(
      device.adding("candidate", [](const float* x, float* y) { std::copy_n(x, kElements, y); }));
  CHECK(reply.outcome == Outcome::kWrongResult);
  CHECK_THAT(reply.reason, StartsWith("accuracy"));
}

TEST_CASE("a kernel that stops to compute once it was timed is refused") {
  Adder device;
  int calls = 0;
  const RunReply reply = device.run(device.adding("candidate", [&](const float* x, float* y) {
    if (++calls <= 12) Adder::add(x, y);
  }));
  CHECK(reply.outcome == Outcome::kWrongResult);
  CHECK_THAT(reply.reason, StartsWith("timed_output"));
}

TEST_CASE("a rival of PyTorch passes the gates of a declared operation, and takes turns") {
  Adder device;
  const Program rival = device.expression("torch:torch.add(x, y)");
  const RunReply reply = device.run(rival);
  CHECK(reply.reason.empty());
  CHECK(reply.outcome == Outcome::kMeasured);
  CHECK(reply.detail == "PyTorch 2.99.0+none, an expression");
  RoundsOrder order;
  order.contestants = {rival, device.adding("candidate", Adder::add)};
  order.rounds = 5;
  const auto rounds = device.rounds(order);
  REQUIRE(rounds);
  CHECK(rounds->rows[0].hot_us == std::vector<double>(5, 62.5));
  CHECK(rounds->rows[0].gates == std::vector<PassedGate>{{GateId::kPhysics}});
  CHECK(rounds->rows[1].hot_us.size() == 5);
}

TEST_CASE("a rival of PyTorch that computes something else, or nothing, is refused") {
  Adder device;
  const RunReply wrong = device.run(device.expression("torch:torch.add(x, x)"));
  CHECK(wrong.outcome == Outcome::kWrongResult);
  CHECK_THAT(wrong.reason, StartsWith("accuracy"));
  const RunReply unknown = device.run(device.expression("torch:torch.add(x, z)"));
  CHECK(unknown.outcome == Outcome::kLaunchError);
  CHECK(unknown.reason == "the expression: name 'z' is not defined; it may use x, y, torch, F");
}
