// referee_test.cpp: Tests judgements of submissions on fake compilers and devices.
#include "judge/referee/referee.hpp"

#include <algorithm>
#include <fstream>

#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include "core/fields.hpp"
#include "core/file.hpp"
#include "judge_fakes.hpp"
#include "support/evaluate_fakes.hpp"
#include "support/fake_evaluator.hpp"
#include "support/temporary_folder.hpp"

using namespace fatune;

namespace {

const Attention kMission{.batch = 4, .heads = 8, .kv_heads = 8, .seq_q = 512, .seq_kv = 512};

const Heartbeat kCalm = [](std::string_view) { return Status(); };

Submission tiled(const std::string& config = "") {
  return {.problem = "mission/mission",
          .source = "extern \"C\" __global__ void main_entry() {}",
          .manifest = test::manifest_text("tiled", "attention"),
          .config = config,
          .thought = "tiles of two",
          .parents = {}};
}

Compilers fake_compilers(std::function<Compiled(const CompileRequest&)> compile, int delay = 0) {
  auto compiler = std::make_unique<test::FakeCompiler>();
  if (compile) compiler->compile = std::move(compile);
  compiler->delay = [delay](const CompileRequest&) { return delay; };
  return {std::move(compiler), [](const Kernel&) { return std::string("fake 1.0"); }};
}

Referee make_referee(std::unique_ptr<Examiner> examiner, JudgementLog log = {},
                     MakeBaselines baselines = nullptr) {
  return Referee(ProblemBook(book("mission", {{"mission", kMission}})), std::move(examiner),
                 std::move(log), {.baselines = std::move(baselines)});
}

Referee compiling(std::function<Compiled(const CompileRequest&)> compile = nullptr, int delay = 0) {
  const auto limits = typical_limits({90, 'a'});
  REQUIRE(limits);
  return make_referee(make_compile_examiner(
      [=]() -> Result<Compilers> { return fake_compilers(compile, delay); }, *limits));
}

Referee on_device(test::FakeDevice device, std::size_t* opened = nullptr,
                  MakeBaselines baselines = nullptr) {
  return make_referee(
      make_device_examiner(
          [=]() -> Result<std::unique_ptr<Evaluator>> {
            if (opened != nullptr) ++*opened;
            return std::unique_ptr<Evaluator>(std::make_unique<test::FakeEvaluator>(device));
          },
          test::tiled_kernel("naive", "reference")),
      {}, std::move(baselines));
}

/// A library of 10 us; `asked` counts how often it was asked for.
MakeBaselines library(int* asked) {
  return [asked](const Problem& problem) -> Result<std::vector<Implementation>> {
    ++*asked;
    return std::vector<Implementation>{{"cudnn",
                                        RowRole::kBaseline,
                                        {nullptr, {}, problem},
                                        OutsideProgram{"cudnn", Json::object()}}};
  };
}

Submission tiled_in(Scrutiny mode, const std::string& config = "") {
  Submission submission = tiled(config);
  submission.mode = mode;
  return submission;
}

JudgedKernel judged(Referee& referee, const Submission& submission) {
  auto judgement = referee.judge(submission, kCalm);
  if (!judgement) FAIL(judgement.error().message);
  return *std::move(judgement);
}

std::string refusal_of(const Submission& submission) {
  Referee referee = compiling();
  const auto judgement = referee.judge(submission, kCalm);
  return judgement ? "" : judgement.error().message;
}

/// The sample submission with a member of its manifest replaced.
Submission with(const std::string& key, const Json& value) {
  Submission submission = tiled();
  Json manifest = test::parsed(submission.manifest);
  manifest[key] = value;
  submission.manifest = dump(manifest);
  return submission;
}

}  // namespace

TEST_CASE("without a GPU a kernel is compiled, and no gate is said to have passed it") {
  Referee referee = compiling();
  const JudgedKernel judgement = judged(referee, tiled());
  CHECK(judgement.record.outcome == Outcome::kUnavailable);
  CHECK(judgement.record.reason == "not judged: compiled for sm_90a, and there is no GPU here");
  CHECK_FALSE(to_json(judgement).contains("passed"));
  CHECK(judgement.gate.empty());
  CHECK(judgement.record.id.size() == 16);
  CHECK(judgement.record.config == Json{{"TILE", 2}});
}

TEST_CASE("a manifest's refusal names every field at once, and its schema") {
  Submission submission = tiled();
  submission.manifest = R"({"schema": "fatune.kernel/1", "nam": 1, "supports": {}})";
  const std::string refused = refusal_of(submission);
  CHECK(refused.starts_with("manifest.json: field 'nam' is unknown; did you mean 'name'?; field "));
  for (const char* field : {"source", "stages"})
    CHECK(refused.find(fmt::format("field '{}' is missing", field)) != std::string::npos);
  CHECK(refused.ends_with("the schema of a manifest is fatune://schema/kernel"));
}

TEST_CASE("what enters a judgement is limited, and a full file is refused before work") {
  const auto refused = [](Json arguments) {
    arguments.update({{"problem", "p"}, {"source", "s"}, {"manifest", Json::object()}});
    const auto read = read_value<Submission>(arguments, "arguments");
    return read ? "" : read.error().message;
  };
  CHECK(refused({{"thought", std::string(5000, 't')}}) ==
        "arguments: field 'thought' has 5000 bytes, more than 4096");
  CHECK(refused({{"parents", {"mine"}}}) ==
        "arguments: field 'parents[0]' is 'mine', not the id of a judgement");
  CHECK(refused({{"parents", std::vector<std::string>(9, "0123456789abcdef")}}) ==
        "arguments: field 'parents' has 9 elements, more than 8");

  const test::TemporaryFolder folder;
  JudgedKernel long_one;
  long_one.record.id = "0123456789abcdef";
  long_one.thought = std::string(kLargeFile - (std::size_t{1} << 19U), 't');
  REQUIRE(replace_file(folder.path() / "judgements.jsonl", dump(to_json(long_one)) + "\n"));
  auto log = JudgementLog::open(folder.path());
  if (!log) FAIL(log.error().message);
  const Status room = log->check_room();
  REQUIRE_FALSE(room);
  CHECK(room.error().message.find("begin another folder with --out") != std::string::npos);
}

TEST_CASE("the example of a problem can be submitted as it is") {
  Referee referee = compiling();
  const auto stated = referee.problems().state({"mission/mission"});
  REQUIRE(stated);
  const JudgedKernel judgement = judged(referee, {.problem = "mission/mission",
                                                  .source = stated->example.source,
                                                  .manifest = stated->example.manifest,
                                                  .config = "",
                                                  .thought = "",
                                                  .parents = {}});
  CHECK(judgement.record.outcome == Outcome::kUnavailable);
  CHECK(judgement.record.kernel == "fa_rows");
}

TEST_CASE("what the compiler or a constraint refuses is said by its gate") {
  Referee broken = compiling([](const CompileRequest&) {
    Compiled compiled;
    compiled.problem = "tiled.cu(1): error: expected a \";\"";
    return compiled;
  });
  const JudgedKernel error = judged(broken, tiled());
  CHECK(error.record.outcome == Outcome::kCompileError);
  CHECK(error.gate == "compilation");
  CHECK(error.record.reason == "tiled.cu(1): error: expected a \";\"");

  Referee referee = compiling();
  const JudgedKernel infeasible = judged(referee, tiled(R"({"TILE": 7})"));
  CHECK(infeasible.record.outcome == Outcome::kInfeasible);
  CHECK(infeasible.gate == "constraints");
  CHECK(infeasible.record.reason.find("seven is no good here") != std::string::npos);
}

TEST_CASE("on a device the gates decide, and nothing is timed") {
  test::FakeDevice device;
  device.cost_us = [](const Config&) { return 5.0; };
  std::size_t opened = 0;
  Referee referee = on_device(device, &opened);
  const JudgedKernel judgement = judged(referee, tiled());
  CHECK(judgement.passed());
  CHECK(judgement.record.outcome == Outcome::kMeasured);
  REQUIRE(judgement.record.verification);
  CHECK(judgement.record.verification->passed);
  const Json json = to_json(judgement);
  CHECK(json.at("schema") == "fatune.judgement/1");
  CHECK(json.at("passed") == true);
  for (const char* time : {"in_layer", "plain", "hot", "cold"}) CHECK_FALSE(json.contains(time));
  CHECK(judged(referee, tiled(R"({"TILE": 4})")).record.id != judgement.record.id);
  CHECK(opened == 1);
}

TEST_CASE("of a listed problem baselines and the best judged kernel are told") {
  test::FakeDevice device;
  device.cost_us = [](const Config& config) { return 2 * test::number(config, "TILE"); };
  device.outside_us = [](const std::string&) { return std::optional(10.0); };
  int asked = 0;
  Referee referee = on_device(device, nullptr, library(&asked));
  REQUIRE(referee.list({})->problems.size() == 1);
  CHECK(referee.list({})->problems.front().known.empty());
  CHECK(referee.list({"causal"})->problems.empty());
  const JudgedKernel judgement = judged(referee, tiled_in(Scrutiny::kRank));
  const std::vector<KnownTime> known = referee.list({})->problems.front().known;
  REQUIRE(known.size() == 2);
  CHECK(known[0].impl == "cudnn");
  CHECK(known[0].source == "baseline");
  CHECK(known[0].median_us == judgement.baselines.front().median_us);
  CHECK(known[1].source == judgement.record.id);
}

TEST_CASE("of shipped configs the fastest in a layer is told, of this problem alone") {
  Attention other = kMission;
  other.batch = 1;
  const auto shipped = [](const char* kernel, const Attention& problem, Time time, double us) {
    SavedConfig config;
    config.kernel = kernel;
    config.problem = problem;
    config.source = "known.json";
    config.time = time;
    if (us > 0) config.median_us = us;
    return config;
  };
  const std::vector<SavedConfig> all = {
      shipped("hot", kMission, Time::kHot, 1), shipped("slow", kMission, Time::kInLayer, 9),
      shipped("best", kMission, Time::kInLayer, 6), shipped("other", other, Time::kInLayer, 2),
      shipped("unknown", kMission, Time::kInLayer, 0)};
  const auto best = best_shipped(all, kMission);
  REQUIRE(best);
  CHECK(best->impl == "fatune:best");
  CHECK(best->median_us == 6);
  CHECK_FALSE(best_shipped({}, kMission));
}

TEST_CASE("a ranked kernel has times, and ratios to baselines that are measured once") {
  test::FakeDevice device;
  device.cost_us = [](const Config& config) { return 2 * test::number(config, "TILE"); };
  device.outside_us = [](const std::string&) { return std::optional(10.0); };
  int asked = 0;
  Referee referee = on_device(device, nullptr, library(&asked));
  const JudgedKernel judgement = judged(referee, tiled_in(Scrutiny::kRank));
  CHECK(judgement.passed());
  REQUIRE(judgement.record.hot);
  CHECK(judgement.record.hot->ci95_low_us);
  REQUIRE(judgement.baselines.size() == 1);
  const BaselineComparison& comparison = judgement.baselines.front();
  CHECK(comparison.impl == "cudnn");
  REQUIRE(comparison.ratio);
  CHECK(comparison.ratio->value < 0.42);
  CHECK(comparison.ratio->value > 0.38);
  CHECK_FALSE(comparison.paired);
  CHECK(comparison.comparison == "faster");
  const Json json = to_json(judgement);
  CHECK(json.at("mode") == "rank");
  CHECK(json.at("baselines").at(0).at("time") == "hot");
  CHECK(json.at("hot").at("ci95_us").size() == 2);
  judged(referee, tiled_in(Scrutiny::kRank, R"({"TILE": 4})"));
  CHECK(asked == 1);
  const JudgedKernel final_one = judged(referee, tiled_in(Scrutiny::kFinal));
  CHECK(final_one.baselines.front().paired);
  CHECK(asked == 2);
}

TEST_CASE("a kernel that a gate refuses has no times, and costs no baseline") {
  test::FakeDevice device;
  device.cost_us = [](const Config&) { return 5.0; };
  device.fails = [](const Config&) { return std::optional(Outcome::kWrongResult); };
  int asked = 0;
  Referee referee = on_device(device, nullptr, library(&asked));
  const JudgedKernel judgement = judged(referee, tiled_in(Scrutiny::kRank));
  CHECK_FALSE(judgement.passed());
  CHECK(judgement.gate == "accuracy");
  CHECK_FALSE(judgement.record.hot);
  CHECK(judgement.baselines.empty());
  CHECK(asked == 0);
}

TEST_CASE("a submission reaches no file and no library, and stands for no reference") {
  for (const char* source : {"../fa_mma/fa_mma.cu", "/etc/passwd", "a/b.cu", "..", "notes.txt"}) {
    INFO(source);
    CHECK(refusal_of(with("source", source)) == "manifest.json: field 'source' is '" +
                                                    std::string(source) +
                                                    "', not a name such as kernel.cu");
  }
  CHECK(refusal_of(with("source", "")).starts_with("manifest.json: field 'source' must not be"));
  CHECK(refusal_of(with("role", "reference")).find("role") != std::string::npos);
  CHECK(refusal_of(with("role", "fault")).find("role") != std::string::npos);
  CHECK(refusal_of(with("schema", "fatune.best/1"))
            .starts_with("manifest.json: field 'schema' is 'fatune.best/1', not fatune.kernel/1"));
  CHECK(refusal_of(with("supports", 1)).starts_with("manifest.json: field 'supports'"));

  Submission includes = tiled();
  includes.source = "#include \"/etc/passwd\"\n" + includes.source;
  CHECK(refusal_of(includes).starts_with("tiled.cu:1: #include \"/etc/passwd\" is not in the"));
  includes.source = "#include \"fa_wgmma/config.cuh\"\n" + tiled().source;
  CHECK(refusal_of(includes).find("is not in the kernel tree") != std::string::npos);
  includes.source = "#include \"common/prelude.cuh\"\n" + tiled().source;
  CHECK(refusal_of(includes).empty());

  Submission long_one = tiled();
  long_one.source += std::string(kLongestSource, ' ');
  CHECK(refusal_of(long_one).find("more than 262144") != std::string::npos);
  Submission nowhere = tiled();
  nowhere.problem = "mission/misson";
  CHECK(refusal_of(nowhere) ==
        "there is no problem 'mission/misson'; did you mean mission/mission?");
  CHECK(refusal_of(tiled(R"({"TILE": 99})")).starts_with("config: "));
}

TEST_CASE("a cancelled call ends its compilation and leaves no judgement") {
  Referee referee = compiling(nullptr, 1000);
  int beats = 0;
  const auto cancelled = referee.judge(tiled(), [&](std::string_view) {
    return ++beats < 4 ? Status() : Status(Error{ErrorKind::kInterrupted, "cancelled"});
  });
  REQUIRE_FALSE(cancelled);
  CHECK(cancelled.error().kind == ErrorKind::kInterrupted);
  CHECK(beats == 4);
  CHECK(referee.history({})->judgements.empty());
}

TEST_CASE("a folder keeps judgements and kernels, for the next judge, too") {
  const test::TemporaryFolder folder;
  const auto out = folder.path() / "out";
  const auto limits = typical_limits({90, 'a'});
  REQUIRE(limits);
  const auto begin = [&] {
    auto log = JudgementLog::open(out);
    if (!log) FAIL(log.error().message);
    return make_referee(make_compile_examiner(
                            []() -> Result<Compilers> { return fake_compilers(nullptr); }, *limits),
                        *std::move(log));
  };
  std::string id;
  {
    Referee first = begin();
    id = judged(first, tiled()).record.id;
    CHECK_FALSE(JudgementLog::open(out));  // one judge a folder
  }
  std::ofstream(out / "judgements.jsonl", std::ios::app) << "{\"schema\":";  // killed here
  Referee second = begin();
  judged(second, tiled(R"({"TILE": 4})"));
  const auto history = second.history({});
  REQUIRE(history);
  REQUIRE(history->judgements.size() == 2);
  CHECK(history->judgements[0].record.id == id);
  CHECK(history->judgements[0].thought == "tiles of two");
  CHECK(second.history({.problem = "mission/mission", .last = 1})->judgements.size() == 1);
  CHECK_FALSE(second.history({.problem = "elsewhere", .last = 1}));
  const auto kernels = available_kernels({out / "kernels" / id});
  REQUIRE(kernels);
  CHECK(std::any_of(kernels->begin(), kernels->end(),
                    [](const KernelRef& kernel) { return kernel->manifest.name == "tiled"; }));
}
