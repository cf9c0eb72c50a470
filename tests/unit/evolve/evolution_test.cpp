// evolution_test.cpp: Tests whole runs on formulas: charges, transcripts, repetition, resumption.
#include "evolve/run/evolution.hpp"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>

#include "core/file.hpp"
#include "evolve/run/ledger.hpp"
#include "evolve_fakes.hpp"
#include "support/temporary_folder.hpp"

using namespace fatune;
using test::answer_of;
using test::FormulaBench;
using test::ListedProposer;
using test::TemporaryFolder;
using test::timed_candidate;
using test::timed_draft;

namespace {

EvolutionOptions options_in(const std::filesystem::path& out, std::int64_t trials,
                            ProposerMode mode = ProposerMode::kFull) {
  EvolutionOptions options;
  options.plan = {.mode = mode, .trials = trials, .kernel = "timed"};
  options.plan.problems = {test::kSmall, test::kMission};
  options.out = out;
  return options;
}

const std::vector<std::string> kAnswers = {
    answer_of({timed_candidate("50 50", "half")}, "half the work"),
    "no JSON at all",
    "",
    answer_of({timed_candidate("0 10", "cheat")}),
    answer_of({timed_candidate("25 50", "quarter")}, "a quarter of the work"),
    answer_of({timed_candidate("50 50", "again")}),
    answer_of({timed_candidate("70 90", "slow")})};

Result<Ledger> run(const EvolutionOptions& options, Proposer& proposer, Bench& bench) {
  return run_evolution(options, timed_draft("100 100"), proposer, bench);
}

std::string text_of(const std::filesystem::path& file) {
  const auto text = read_file(file);
  REQUIRE(text);
  return *text;
}

Json request_of(const ListedProposer& proposer, std::size_t ask) {
  auto json = parse_json(proposer.requests.at(ask), "request");
  REQUIRE(json);
  return *std::move(json);
}

}  // namespace

TEST_CASE("every answer is charged: what passes is selected, what does not says why") {
  const TemporaryFolder folder;
  ListedProposer proposer(kAnswers);
  FormulaBench bench;
  const auto ledger = run(options_in(folder / "run", 7), proposer, bench);
  REQUIRE(ledger);
  const auto& trials = ledger->trials;
  REQUIRE(trials.size() == 8);
  CHECK(trials[1].speedup.value() == Catch::Approx(2));
  CHECK(trials[1].usage.tokens() == 120);
  CHECK(trials[2].step == step::kPropose);
  CHECK(trials[2].verdict == verdict::kInvalid);
  CHECK(trials[3].reason == "it said nothing");
  CHECK(trials[4].step == step::kCheck);
  CHECK(trials[4].shapes.size() == 1);
  CHECK(trials[5].speedup.value() == Catch::Approx(std::sqrt(8.0)));
  CHECK(trials[6].reason == "the same as t1, which was elite");
  CHECK(trials[7].valid());
  CHECK(trials[7].best.value() == Catch::Approx(std::sqrt(8.0)));
  CHECK(trials[1].profile == "bound by 50");
  CHECK(trials[7].profile.empty());  // no new best
  CHECK(request_of(proposer, 1)["parents"].dump().find("bound by") != std::string::npos);
  REQUIRE(ledger->duels.size() == 2);
  CHECK(ledger->duels[0].id == "t5");
  CHECK(ledger->duels[0].duel.speedup->value == Catch::Approx(4));
  CHECK(text_of(folder / "run/best/timed.cu") == test::timed_source("25 50"));
  CHECK(std::filesystem::exists(folder / "run/kernels/t1/manifest.json"));
  CHECK_FALSE(std::filesystem::exists(folder / "run/kernels/t4"));
}

TEST_CASE("modes differ in what they tell") {
  const TemporaryFolder folder;
  for (const auto mode : {ProposerMode::kFree, ProposerMode::kInsight, ProposerMode::kFull}) {
    ListedProposer proposer(kAnswers);
    FormulaBench bench;
    REQUIRE(run(options_in(folder / std::string(name(mode)), 6, mode), proposer, bench));
    const Json last = request_of(proposer, 5);
    CHECK(last["schema"] == "fatune.evolve_request/1");
    CHECK(last["mode"] == name(mode));
    CHECK(last["budget"]["trials_left"] == 1);
    CHECK(last["task"]["problems"].size() == 2);
    CHECK(last["parents"][0].contains("source"));
    CHECK(last.contains("insights") == (mode != ProposerMode::kFree));
    CHECK(last.contains("failures") == (mode != ProposerMode::kFree));
    CHECK(last.contains("elites") == (mode == ProposerMode::kFull));
    CHECK(last.contains("history") == (mode == ProposerMode::kFull));
    if (mode != ProposerMode::kFull) CHECK(last["parents"][0]["id"] == "t5");
    if (mode == ProposerMode::kFull) CHECK(last["operation"] == "crossover");
    CHECK(last["parents"].size() == (mode == ProposerMode::kFull ? 2 : 1));
  }
}

TEST_CASE("several candidates of an answer are several trials, at most as many as are wanted") {
  const TemporaryFolder folder;
  ListedProposer proposer(
      {answer_of({timed_candidate("90 90"), timed_candidate("80 80"), timed_candidate("70 70")}),
       answer_of({timed_candidate("60 60")})});
  FormulaBench bench;
  auto options = options_in(folder / "run", 3);
  options.plan.wanted = 2;
  const auto ledger = run(options, proposer, bench);
  REQUIRE(ledger);
  CHECK(ledger->trials.size() == 4);
  CHECK(ledger->trials[2].ask == 0);
  CHECK(ledger->trials[2].usage.tokens() == 0);
  CHECK(ledger->trials[3].ask == 1);
  CHECK(request_of(proposer, 1)["wanted"] == 1);
}

TEST_CASE("a run repeats bit for bit from its transcript and ledger") {
  const TemporaryFolder folder;
  ListedProposer proposer(kAnswers);
  FormulaBench bench;
  REQUIRE(run(options_in(folder / "run", 7), proposer, bench));
  auto ledger = load_ledger(folder / "run");
  REQUIRE(ledger);
  CHECK(ledger->complete);
  const auto repeated_bench = make_recorded_bench(*std::move(ledger));
  auto repeated = make_replay_proposer(folder / "run");
  REQUIRE(repeated);
  REQUIRE(run(options_in(folder / "again", 7), **repeated, *repeated_bench));
  CHECK(text_of(folder / "again" / kLedgerFile) == text_of(folder / "run" / kLedgerFile));
  const auto before = load_transcript(folder / "run"), after = load_transcript(folder / "again");
  REQUIRE((before && after));
  REQUIRE(before->size() == after->size());
  for (std::size_t i = 0; i < before->size(); ++i)
    CHECK((*before)[i].request == (*after)[i].request);
}

TEST_CASE("what a ledger does not hold is not measured") {
  const TemporaryFolder folder;
  ListedProposer proposer(kAnswers);
  FormulaBench bench;
  REQUIRE(run(options_in(folder / "run", 2), proposer, bench));
  auto ledger = load_ledger(folder / "run");
  REQUIRE(ledger);
  const auto recorded = make_recorded_bench(*std::move(ledger));
  ListedProposer other({answer_of({timed_candidate("1 1")})});
  const auto repeated = run(options_in(folder / "again", 1), other, *recorded);
  REQUIRE(repeated);
  CHECK_FALSE(repeated->trials[1].valid());
  CHECK(repeated->trials[1].reason.find("not in the recording") != std::string::npos);
}

TEST_CASE("a run that was cut at any line ends as if it had not been") {
  const TemporaryFolder folder;
  {
    ListedProposer proposer(kAnswers);
    FormulaBench bench;
    REQUIRE(run(options_in(folder / "whole", 7), proposer, bench));
  }
  const std::string ledger = text_of(folder / "whole" / kLedgerFile);
  const std::string transcript = text_of(folder / "whole" / kTranscriptFile);
  const std::vector<std::string> lines = split(ledger, '\n');
  for (std::size_t kept = 1; kept + 1 < lines.size(); ++kept) {
    const auto run_folder = folder / ("cut" + std::to_string(kept));
    REQUIRE(make_directories(run_folder));
    std::string part;
    for (std::size_t i = 0; i < kept; ++i) part += lines[i] + "\n";
    part += lines[kept].substr(0, lines[kept].size() / 2);
    REQUIRE(replace_file(run_folder / kLedgerFile, part));
    REQUIRE(
        replace_file(run_folder / kTranscriptFile, transcript.substr(0, transcript.size() / 2)));
    ListedProposer proposer(kAnswers);
    FormulaBench bench;
    auto options = options_in(run_folder, 7);
    options.resume = true;
    REQUIRE(run(options, proposer, bench));
    CHECK(text_of(run_folder / kLedgerFile) == ledger);
  }
}

TEST_CASE("a ledger's header names its device and that its architecture") {
  LedgerHeader header;
  header.plan = {.kernel = "timed", .problems = {test::kSmall}};
  header.environment.limits.arch = {90, 'a'};
  Json written = to_json(header);
  CHECK(read_value<LedgerHeader>(written, "header"));
  written["device"].erase("arch");
  CHECK_FALSE(read_value<LedgerHeader>(written, "header"));
  written.erase("device");
  CHECK_FALSE(read_value<LedgerHeader>(written, "header"));
}

TEST_CASE("an interrupt and a lost machine end a run that can be gone on with") {
  const TemporaryFolder folder;
  ListedProposer proposer(kAnswers);
  FormulaBench bench;
  bench.before = [&]() -> Status {
    if (bench.examined > 4) return device_error("the GPU fell off the bus");
    return {};
  };
  auto options = options_in(folder / "run", 7);
  const auto cut = run(options, proposer, bench);
  REQUIRE_FALSE(cut);
  CHECK(cut.error().kind == ErrorKind::kDevice);
  bench.before = nullptr;
  CHECK_FALSE(run(options, proposer, bench));  // the folder holds a run
  options.resume = true;
  const auto whole = run(options, proposer, bench);
  REQUIRE(whole);
  CHECK(whole->trials.size() == 8);
}

TEST_CASE("a run goes on where it began, with its own answers") {
  const TemporaryFolder folder;
  ListedProposer proposer(kAnswers);
  FormulaBench bench;
  auto options = options_in(folder / "run", 2);
  REQUIRE(run(options, proposer, bench));
  std::filesystem::create_directory(folder / "other");
  std::filesystem::copy_file(folder / "run" / kTranscriptFile, folder / "other" / kTranscriptFile);
  const auto foreign = run(options_in(folder / "other", 2), proposer, bench);
  REQUIRE_FALSE(foreign);
  CHECK(foreign.error().message.find("the answers of another run") != std::string::npos);
  options.resume = true;
  REQUIRE(run(options, proposer, bench));
  options.recorded = true;
  const auto recorded = run(options, proposer, bench);
  options.recorded = false;
  bench.move_to("NVIDIA Other");
  const auto moved = run(options, proposer, bench);
  for (const auto* each : {&recorded, &moved}) {
    REQUIRE_FALSE(*each);
    CHECK(each->error().kind == ErrorKind::kUsage);
    CHECK(each->error().message.starts_with("resume: "));
  }
}

TEST_CASE("a trial that passed has every problem of its run") {
  const TemporaryFolder folder;
  ListedProposer proposer(kAnswers);
  FormulaBench bench;
  REQUIRE(run(options_in(folder / "run", 2), proposer, bench));
  const auto file = folder / "run" / kLedgerFile;
  std::vector<std::string> lines = split(text_of(file), '\n');
  Json start = Json::parse(lines[1]);
  start["shapes"].erase(1);
  lines[1] = dump(start);
  REQUIRE(replace_file(file, join(lines, "\n")));
  const auto read = load_ledger(folder / "run");
  REQUIRE_FALSE(read);
  CHECK(read.error().message.ends_with("field 'shapes' has 1 of the run's 2 problems"));
}

TEST_CASE("a start that does not pass is a usage error, and leaves the folder free") {
  const TemporaryFolder folder;
  ListedProposer proposer(kAnswers);
  FormulaBench bench;
  const auto options = options_in(folder / "run", 3);
  const auto ledger = run_evolution(options, timed_draft("100 0"), proposer, bench);
  REQUIRE_FALSE(ledger);
  CHECK(ledger.error().kind == ErrorKind::kUsage);
  CHECK(run(options, proposer, bench));
}

TEST_CASE("parents that are none are charged") {
  const TemporaryFolder folder;
  Json candidate = timed_candidate("10 10");
  candidate["parents"] = {"t99"};
  ListedProposer proposer({answer_of({candidate})});
  FormulaBench bench;
  const auto ledger = run(options_in(folder / "run", 1), proposer, bench);
  REQUIRE(ledger);
  CHECK(ledger->trials[1].reason == "parents: no trial 't99' has passed");
}

TEST_CASE("a transcript that ends too early says so") {
  const TemporaryFolder folder;
  ListedProposer proposer(kAnswers);
  FormulaBench bench;
  REQUIRE(run(options_in(folder / "run", 2), proposer, bench));
  auto repeated = make_replay_proposer(folder / "run" / kTranscriptFile);
  REQUIRE(repeated);
  const auto longer = run(options_in(folder / "again", 5), **repeated, bench);
  REQUIRE_FALSE(longer);
  CHECK(longer.error().kind == ErrorKind::kFile);
  CHECK(longer.error().message.find("has 2 answers") != std::string::npos);
}
