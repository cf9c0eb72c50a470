// external_test.cpp - checks descriptions of programs, what is read from them, and their turns.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <nlohmann/json.hpp>

#include "core/fields.hpp"
#include "core/file.hpp"
#include "support/temporary_folder.hpp"
#include "worker/baselines/outside.hpp"
#include "worker/protocol/external_description.hpp"

using namespace fatune;

namespace {

const Problem kGrouped{4, 8, 2, 512, 1024, 64, Dtype::kF16, Mask::kCausal};
const Problem kSquare{4, 8, 8, 512, 512, 64, Dtype::kF16, Mask::kNone};

const Json kDescription = {
    {"schema", "fatune.external/1"},
    {"name", "toy"},
    {"summary", "prints a time"},
    {"install", "a script of this test"},
    {"program", "toy"},
    {"arguments", {"{batch}x{heads}", "{causal:|,1}", "--d={head_dim}"}},
    {"supports",
     {{"dtypes", {"f16"}},
      {"masks", {"none"}},
      {"head_dims", {64, 128}},
      {"rules", {{{"require", "seq_q == seq_kv"}, {"why", "it takes one length"}}}}}},
    {"output",
     {{"pattern", "time ([0-9.a-z]+) ms(?:, cold ([0-9.]+))?(?:, error ([0-9.e+-]+))?"},
      {"unit", "ms"},
      {"hot_us", 1},
      {"cold_us", 2},
      {"error", 3},
      {"error_limit", 0.01}}},
    {"launches", 20},
    {"timeout_s", 5},
    {"verifies", "nothing"}};

ExternalDescription described(const Json& description = kDescription) {
  auto parsed = parse_external(dump(description), "toy.json");
  REQUIRE(parsed);
  return *parsed;
}

std::string fault(const std::string& key, const Json& value) {
  Json description = kDescription;
  description[key] = value;
  const auto parsed = parse_external(dump(description), "toy.json");
  REQUIRE_FALSE(parsed);
  return parsed.error().message;
}

/// A folder with the description, and a program that runs `line`.
struct Toy {
  explicit Toy(const std::string& line, const Json& description = kDescription) {
    REQUIRE(replace_file(folder / "toy.json", dump(description)));
    if (line.empty()) return;
    REQUIRE(replace_file(folder / "toy", "#!/bin/sh\n" + line + "\n"));
    std::filesystem::permissions(folder / "toy", std::filesystem::perms::owner_all);
  }
  Result<std::unique_ptr<Executable>> open(const Problem& problem = kSquare,
                                           const std::string& uuid = "") const {
    FATUNE_TRY(const ExternalCommand command,
               external_command("toy", problem, {{folder.path()}, {}}));
    return open_external(to_json(command), uuid);
  }
  test::TemporaryFolder folder;
};

std::string turn_fault(const std::string& line) {
  const Toy toy(line);
  const auto opened = toy.open();
  REQUIRE(opened);
  const auto times = (*opened)->self_timed()->take_turn(5);
  REQUIRE_FALSE(times);
  CHECK(times.error().kind == ErrorKind::kDevice);
  return times.error().message;
}

}  // namespace

TEST_CASE("placeholders become the problem's numbers") {
  const auto filled = [](std::string_view text, const Problem& problem = kGrouped) {
    const auto result = fill_in(text, problem, "here");
    REQUIRE(result);
    return *result;
  };
  CHECK(filled("{batch},{heads},{kv_heads},{seq_q},{seq_kv},{head_dim}") == "4,8,2,512,1024,64");
  CHECK(filled("{dtype} {mask} {causal}") == "f16 causal 1");
  CHECK(filled("x{causal:|,1}") == "x,1");
  CHECK(filled("{layout}") == "bhsd");
  CHECK(filled("x{causal:|,1}", kSquare) == "x");
  CHECK(filled("{causal:full|causal}", kSquare) == "full");
  CHECK(filled("plain").size() == 5);
  CHECK(filled("").empty());
  CHECK(fill_in("{seq}", kGrouped, "here")
            .error()
            .message.starts_with("here: there is no placeholder {seq}"));
  CHECK(fill_in("a{batch", kGrouped, "here").error().message ==
        "here: '{batch' has no closing brace");
}

TEST_CASE("mistakes in a description name file and field") {
  CHECK(fault("schema", "fatune.external/9") ==
        "toy.json: field 'schema' is 'fatune.external/9'; this version reads "
        "'fatune.external/1'");
  CHECK(fault("program", 3).starts_with("toy.json: field 'program' must be a string"));
  CHECK(fault("programme", "x").find("programme") != std::string::npos);
  CHECK(fault("arguments", {"{size}"}).find("{size}") != std::string::npos);
  CHECK(fault("runs", 0) == "toy.json: field 'runs' must be between 1 and 10000");
  CHECK(fault("supports", {{"dtypes", {"f61"}}}).find("supports.dtypes") != std::string::npos);
  CHECK(fault("supports", {{"head_dims", "64"}}).find("supports.head_dims") != std::string::npos);
  CHECK(
      fault("supports", {{"rules", {{{"require", "length == 1"}, {"why", ""}}}}}).find("length") !=
      std::string::npos);
  CHECK(fault("output", {{"pattern", "(us"}}).find("is no regular expression") !=
        std::string::npos);
  CHECK(fault("output", {{"pattern", "([0-9]+) us"}, {"cold_us", 2}}) ==
        "toy.json: field 'output.cold_us' is group 2; the pattern has 1");
  CHECK(fault("output", {{"pattern", "([0-9]+) us"}, {"unit", "h"}}).find("there are us, ms, s") !=
        std::string::npos);
}

TEST_CASE("no pattern costs more than its length and the line's") {
  CHECK(fault("output", {{"pattern", std::string(200'000, '(')}}) ==
        "toy.json: field 'output': is a pattern of more than 1000 characters");
  const std::string nested = std::string(400, '(') + "a" + std::string(400, ')');
  ExternalOutput output;
  output.pattern = nested;
  output.hot = 1;
  CHECK_FALSE(read_external_output(std::string(1000, 'b'), output));
  for (const char* pattern : {"((((((.*)*)*)*)*)*)$b", "(a+)+$b", "(.?){900}b"}) {
    CAPTURE(pattern);
    output.pattern = pattern;
    CHECK_FALSE(read_external_output(std::string(100'000, 'a'), output));
  }
}

TEST_CASE("a problem that the program cannot do is refused with the reason") {
  const ExternalDescription toy = described();
  const auto reason = [&](Problem problem) {
    const auto result = refusal(toy, problem);
    REQUIRE(result);
    return *result;
  };
  CHECK(reason(kSquare).empty());
  CHECK(reason({4, 8, 8, 512, 512, 64, Dtype::kBf16}) == "it does f16, not bf16");
  CHECK(reason({4, 8, 8, 512, 512, 64, Dtype::kF16, Mask::kCausal}) ==
        "it does the masks none, not causal");
  CHECK(reason({4, 8, 8, 512, 512, 80}) == "it does the head dims 64, 128, not 80");
  CHECK(reason({4, 8, 8, 512, 256, 64}) == "it needs seq_q == seq_kv: it takes one length");
}

TEST_CASE("a program is given other layouts than bhsd only where its description names them") {
  Problem packed = kSquare;
  packed.layouts = *parse_layouts("packed");
  CHECK(*refusal(described(), packed) == "it does the layouts bhsd, not packed");
  Json description = kDescription;
  description["supports"]["layouts"] = {"bshd", "packed"};
  CHECK(refusal(described(description), packed)->empty());
  CHECK(*refusal(described(description), kSquare) == "it does the layouts bshd, packed, not bhsd");
  CHECK(*fill_in("{layout}", packed, "here") == "packed");
  CHECK(fault("supports", {{"layouts", {"bsdh"}}}).find("supports.layouts") != std::string::npos);
}

TEST_CASE("times are read from the first line that matches") {
  const ExternalOutput how = described().output;
  const auto times =
      read_external_output("warming up\ntime 0.25 ms, cold 0.5, error 1e-3\ntime 9 ms\n", how);
  REQUIRE(times);
  CHECK(times->hot_us == 250);
  CHECK(times->cold_us == 500);
  CHECK(times->error == 1e-3);
  CHECK_FALSE(times->tflops);

  const auto fault = [&](std::string_view text) {
    const auto result = read_external_output(text, how);
    REQUIRE_FALSE(result);
    return result.error().message;
  };
  CHECK(fault("") == "it printed nothing");
  CHECK(fault("no device\nbye") ==
        "no line matches its description's pattern; it printed 'no device'");
  CHECK(fault("time 0 ms") == "there is a time that is none in 'time 0 ms'");
  CHECK(fault("time nan ms") == "there is a time that is none in 'time nan ms'");
  CHECK(fault("time 1 ms, error 0.5") ==
        "its own check found an error of 0.5, above 0.01, in 'time 1 ms, error 0.5'");
}

TEST_CASE("the description of fa3 reads what fa3 prints") {
  const auto fa3 = load_external("fa3", {});
  REQUIRE(fa3);
  const auto times = read_external_output(
      "fa3 1,8,4096,64 causal: 50.19 us, 342.3 TFLOP/s, max err 2.44e-04\n", fa3->output);
  REQUIRE(times);
  CHECK(times->hot_us == 50.19);
  CHECK(times->tflops == 342.3);
  CHECK(times->error == 2.44e-4);
  CHECK_FALSE(
      read_external_output("fa3 1,8,64,64 full: 9.1 us, 3.0 TFLOP/s, max err nan", fa3->output));

  const auto command =
      external_command("fa3", {1, 8, 8, 4096, 4096, 64, Dtype::kF16, Mask::kCausal}, {});
  REQUIRE(command);
  CHECK(command->description.arguments == std::vector<std::string>{"1,8,4096,64,1"});
  CHECK(command->refusal.empty());
}

TEST_CASE("an unknown external program is a usage error that names the known ones") {
  const auto unknown = load_external("flashattention", {});
  REQUIRE_FALSE(unknown);
  CHECK(unknown.error().kind == ErrorKind::kUsage);
  CHECK(unknown.error().message.find("fa3") != std::string::npos);
  CHECK(load_external("fa2", {}).error().message.find("did you mean fa3?") != std::string::npos);

  const Toy toy("");
  CHECK(external_names({toy.folder.path()}) == std::vector<std::string>{"fa3", "toy"});
}

TEST_CASE("a program takes turns spread over the rounds, on the device it is told") {
  const Toy toy(
      "echo \"time 0.125 ms, cold 1, error 0.002\"; echo $1 $2 $3 $CUDA_VISIBLE_DEVICES"
      " > \"$(dirname \"$0\")/told\"");
  const auto opened = toy.open(kSquare, "GPU-1234");
  REQUIRE(opened);
  SelfTimed* timed = (*opened)->self_timed();
  REQUIRE(timed != nullptr);
  CHECK((*opened)->detail() == "checks nothing");
  CHECK(timed->hot_launches() == 20);
  const auto times = timed->take_turn(5);
  REQUIRE(times);
  CHECK(times->hot_us == 125);
  CHECK(times->cold_us == 1000);
  CHECK(*read_file(toy.folder / "told") == "4x8 --d=64 GPU-1234\n");
  CHECK((*opened)->detail() == "checks nothing; largest error 0.002");

  std::vector<int> taken;
  for (int round = 0; round < 40; ++round) {
    if (timed->takes_turn(round, 40)) taken.push_back(round);
  }
  CHECK(taken == std::vector<int>{6, 20, 33});
  CHECK(timed->takes_turn(0, 2));
  CHECK(timed->takes_turn(1, 2));
}

TEST_CASE("a program that fails says so in its row") {
  CHECK(turn_fault("echo starting; echo 'no such device' >&2; exit 3") ==
        "toy ended with exit status 3: no such device");
  CHECK(turn_fault("kill -SEGV $$") == "toy ended with signal SIGSEGV");
  CHECK(turn_fault("echo hello") ==
        "while reading toy: no line matches its description's pattern; it printed 'hello'");
}

TEST_CASE("a program that hangs is ended at its time limit") {
  Json description = kDescription;
  description["timeout_s"] = 1;
  const Toy toy("exec sleep 60", description);
  const auto opened = toy.open();
  REQUIRE(opened);
  const auto times = (*opened)->self_timed()->take_turn(1);
  REQUIRE_FALSE(times);
  CHECK(times.error().message.starts_with("toy was still running after 1"));
}

TEST_CASE("a missing program is unavailable, an unsupported problem is refused") {
  const Toy toy("");
  const auto missing = toy.open();
  REQUIRE_FALSE(missing);
  CHECK(missing.error().kind == ErrorKind::kEnvironment);
  CHECK(missing.error().message ==
        "the program 'toy' is neither beside its description nor on PATH; it is a script of this "
        "test");
  const auto refused = toy.open(kGrouped);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().kind == ErrorKind::kUsage);
  CHECK(refused.error().message == "toy cannot do this: it does the masks none, not causal");
}
