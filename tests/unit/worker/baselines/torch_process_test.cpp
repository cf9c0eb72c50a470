// torch_process_test.cpp: Checks the orders to the Python helper, and its failures.
#include "worker/baselines/torch_process.hpp"

#include <algorithm>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <nlohmann/json.hpp>

#include "core/file.hpp"
#include "core/text.hpp"
#include "support/temporary_folder.hpp"
#include "worker/timing/layer.hpp"
#include "worker/timing/sampler.hpp"

using namespace fatune;
using namespace std::chrono_literals;

namespace {

const Attention kTwoHeads{1, 2, 2, 16, 16, 8, Dtype::kF16, Mask::kNone};
const TensorAddresses kSource{{"q", 1}, {"k", 2}, {"v", 3}, {"out", 4}};

/// A program in place of Python: a line for the shell.
std::string make_python(const test::TemporaryFolder& folder, const std::string& line) {
  const auto path = folder / "python";
  REQUIRE(replace_file(path, "#!/bin/sh\n" + line + "\n"));
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  return path.string();
}

/// The fake helper in one of its moods.
struct Fake {
  explicit Fake(const std::string& mode)
      : counter((folder / "starts").string()),
        setting{make_python(folder, "exec python3 '" FATUNE_SOURCE_DIR
                                    "/tests/unit/worker/baselines/fake_torch_helper.py' " +
                                        mode + " '" + counter + "'"),
                "", kTwoHeads, 4096} {}
  std::size_t starts() const {
    const auto text = read_file(counter);
    return text ? static_cast<std::size_t>(std::count(text->begin(), text->end(), '\n')) : 0;
  }

  test::TemporaryFolder folder;
  std::string counter;
  TorchSetting setting;
  TorchProcess process{{10s, 10s}};
};

std::string message(const Error& error) { return error.message; }

}  // namespace

TEST_CASE("the helper runs, prepares and takes turns") {
  Fake fake("well");
  REQUIRE(fake.process.open("flash", fake.setting));
  CHECK(fake.process.detail("flash") == "PyTorch 9.9, flash");
  const auto q = fake.process.tensors()["q"];
  REQUIRE(q.size() == 2 * 16 * 8 * 2);
  std::fill(q.begin(), q.end(), std::byte{0x3c});
  CHECK_FALSE(fake.process.has_inputs_of(kSource));
  fake.process.inputs_are_of(kSource);
  CHECK(fake.process.has_inputs_of(kSource));
  REQUIRE(fake.process.run("flash"));
  const auto out = fake.process.tensors()["out"];
  CHECK(std::all_of(out.begin(), out.end(), [](std::byte b) { return b == std::byte{0x3c}; }));

  const auto launches = fake.process.prepare("flash");
  REQUIRE(launches);
  CHECK(*launches == 7);
  const auto times = fake.process.turn("flash", 5);
  REQUIRE(times);
  CHECK(times->hot_us == 10.5);
  CHECK(times->cold_us == 17.0);
  CHECK(fake.starts() == 1);
}

TEST_CASE("the helper times by the numbers of the sampler") {
  Fake fake("well");
  REQUIRE(fake.process.greet(fake.setting));
  const auto text = read_file(fake.counter + ".method");
  REQUIRE(text);
  const SamplingPlan plan;
  CHECK(*parse_json(*text, "the method") == Json{{"graph_us", plan.graph_time.value},
                                                 {"max_graph_launches", plan.max_graph_launches},
                                                 {"estimate_launches", plan.estimate_launches},
                                                 {"slow_us", kSlowUs},
                                                 {"long_us", kLongUs},
                                                 {"steady", kSteadyLayer},
                                                 {"most_passes", kMostLayerPasses},
                                                 {"patience_s", 60}});
}

TEST_CASE("what was asked ahead is not asked again") {
  Fake fake("well");
  fake.process.open_ahead("flash", fake.setting);
  const std::string asked = fake.process.tensors().place().dump();
  REQUIRE(fake.process.open("flash", fake.setting));
  CHECK(fake.process.tensors().place().dump() == asked);
  CHECK(fake.process.detail("flash") == "PyTorch 9.9, flash");
  REQUIRE(fake.process.run("flash"));
  CHECK(fake.starts() == 1);
}

TEST_CASE("what was asked ahead and is not wanted costs nothing else") {
  Fake fake("well");
  fake.process.open_ahead("efficient", fake.setting);  // it cannot do it
  SECTION("another backend") {
    REQUIRE(fake.process.open("flash", fake.setting));
    CHECK(fake.process.detail("flash") == "PyTorch 9.9, flash");
  }
  SECTION("another problem") {
    fake.setting.problem.as_attention().seq_kv = 32;
    REQUIRE(fake.process.open("flash", fake.setting));
    CHECK(fake.process.tensors()["k"].size() == 2 * 32 * 8 * 2);
  }
  SECTION("the same after all") {
    const Status opened = fake.process.open("efficient", fake.setting);
    REQUIRE_FALSE(opened);
    CHECK(message(opened.error()) == "PyTorch's efficient cannot do this: too many heads");
  }
  REQUIRE(fake.process.open("math", fake.setting));
  REQUIRE(fake.process.run("math"));
  CHECK(fake.starts() == 1);
}

TEST_CASE("one that cannot start says so when it is needed, also asked ahead") {
  Fake fake("unavailable");
  fake.process.open_ahead("flash", fake.setting);
  const Status opened = fake.process.open("flash", fake.setting);
  REQUIRE_FALSE(opened);
  CHECK(opened.error().kind == ErrorKind::kEnvironment);
}

TEST_CASE("another problem gets memory of its own, without inputs") {
  Fake fake("well");
  REQUIRE(fake.process.open("flash", fake.setting));
  fake.process.inputs_are_of(kSource);
  fake.setting.problem.as_attention().seq_kv = 32;
  REQUIRE(fake.process.open("flash", fake.setting));
  CHECK(fake.process.tensors()["k"].size() == 2 * 32 * 8 * 2);
  CHECK_FALSE(fake.process.has_inputs_of(kSource));
}

TEST_CASE("a helper that fails in a turn fails that turn; the next open starts another") {
  struct Case {
    const char* mode;
    const char* message;
  };
  const Case which = GENERATE(
      Case{"dies", "the PyTorch helper ended: signal SIGKILL"},
      Case{"silent", "the PyTorch helper was silent for 0.3 s and was ended"},
      Case{"garbage",
           "the PyTorch helper said 'Segmentation fault, or so' instead of an answer and was "
           "ended"},
      Case{"ends", "an illegal address"});
  INFO(which.mode);
  Fake fake(which.mode);
  REQUIRE(fake.process.open("flash", fake.setting));
  REQUIRE(fake.process.open("math", fake.setting));
  fake.process.inputs_are_of(kSource);
  if (std::string_view(which.mode) == "silent") fake.process.set_patience({10s, 300ms});
  const auto times = fake.process.turn("flash", 1);
  REQUIRE_FALSE(times);
  CHECK(times.error().kind == ErrorKind::kDevice);
  CHECK(message(times.error()) == which.message);
  CHECK(fake.process.detail("math").empty());

  fake.process.set_patience({10s, 10s});
  REQUIRE(fake.process.open("math", fake.setting));
  CHECK_FALSE(fake.process.has_inputs_of(kSource));
  CHECK(fake.process.turn("math", 1));
  CHECK(fake.starts() == 2);
}

TEST_CASE("no PyTorch is an environment error with a remedy, asked for once") {
  Fake fake("unavailable");
  for (int i = 0; i < 2; ++i) {
    const Status opened = fake.process.open("flash", fake.setting);
    REQUIRE_FALSE(opened);
    CHECK(opened.error().kind == ErrorKind::kEnvironment);
    CHECK(message(opened.error()).starts_with("no PyTorch here; install PyTorch with CUDA"));
    CHECK(message(opened.error()).ends_with("--python"));
  }
  CHECK(fake.starts() == 1);
}

TEST_CASE("a Python that is not there, or does not start, is an environment error") {
  const test::TemporaryFolder folder;
  const std::string missing =
      GENERATE(std::string("python3-of-nowhere"), std::string("/nowhere/python3"));
  TorchProcess process;
  const Status opened = process.open("flash", {missing, "", kTwoHeads, 0});
  REQUIRE_FALSE(opened);
  CHECK(opened.error().kind == ErrorKind::kEnvironment);
  CHECK(message(opened.error()).find(missing) != std::string::npos);
}

TEST_CASE("an output that is read lies among the inputs, too, and is told as both") {
  OperationPlan plan;
  plan.tensors = {{"x", Dtype::kF16, {3, 5}, false, {}},
                  {"y", std::nullopt, {7}, true, {}},
                  {"lse", std::nullopt, {2}, true, {}}};
  plan.tensors[1].filled = true;
  plan.tensors[2].plain = PlainType::kI64;
  const auto tensors = SharedTensors::make(plan);
  REQUIRE(tensors);
  CHECK(tensors->inputs() == std::vector<std::string>{"x", "y before"});
  CHECK(tensors->outputs() == std::vector<std::string>{"lse", "y"});
  CHECK((*tensors)["x"].size() == 30);
  CHECK((*tensors)["y before"].size() == 28);
  CHECK((*tensors)["lse"].size() == 16);
  const auto told = [](const char* name, const char* type, std::vector<int> shape, int place,
                       bool output) {
    return Json{{"name", name},   {"type", type},    {"shape", shape}, {"strides", Json::array()},
                {"place", place}, {"output", output}};
  };
  CHECK(tensors->tensors() ==
        Json::array({told("x", "f16", {3, 5}, 0, false), told("y", "f32", {7}, 4096, false),
                     told("y", "f32", {7}, 8192, true), told("lse", "i64", {2}, 12288, true)}));
  CHECK(tensors->place().at("inputs") == 8192);
}
