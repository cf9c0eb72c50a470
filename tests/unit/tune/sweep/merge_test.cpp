// merge_test.cpp: Checks that merged shards read as one run, and that mismatches are refused.
#include <algorithm>
#include <functional>

#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include "core/fields.hpp"
#include "core/text.hpp"
#include "shard_fixture.hpp"
#include "tune/sweep/best.hpp"
#include "tune/sweep/shard_runs.hpp"

namespace fatune {
namespace {

using test::FakeEvaluator;
using test::ShardFixture;
using test::text_of;
using Folders = std::vector<std::filesystem::path>;

/// Returns the records without the header, which also lists the merged runs.
std::string records_of(const std::filesystem::path& run) {
  const std::string text = text_of(run / "journal.jsonl");
  return text.substr(text.find('\n') + 1);
}

void check_refused(const Folders& folders, const std::string& words) {
  const auto runs = load_shard_runs(folders);
  REQUIRE_FALSE(runs);
  CAPTURE(runs.error().message);
  CHECK(runs.error().kind == ErrorKind::kUsage);
  CHECK(runs.error().message.find(words) != std::string::npos);
  for (const auto& folder : folders)
    CHECK(runs.error().message.find(folder.string()) != std::string::npos);
}

/// Replaces the header of a run.
void edit_header(const std::filesystem::path& run,
                 const std::function<void(JournalHeader&)>& edit) {
  const std::string text = text_of(run / "journal.jsonl");
  auto journal = parse_journal(text, "journal");
  REQUIRE(journal);
  edit(journal->header);
  const std::string header = dump(to_json(journal->header));
  REQUIRE(replace_file(run / "journal.jsonl", header + text.substr(text.find('\n'))));
}

std::size_t finals_in(const std::string& journal) {
  std::size_t found = 0;
  for (std::size_t at = 0; (at = journal.find(R"({"t":"final")", at)) != std::string::npos; ++at)
    ++found;
  return found;
}

TEST_CASE("1, 2, 4 and 5 shards merge to what one run writes") {
  constexpr double kFinalsTake = 2;  // problems end with their final phases
  ShardFixture one;
  one.device.seconds_finals = kFinalsTake;
  const std::filesystem::path whole = one.run_all(1).front();
  for (const std::uint64_t of : {1U, 2U, 4U, 5U}) {
    CAPTURE(of);
    ShardFixture fixture;
    fixture.device.seconds_finals = kFinalsTake;
    const Folders folders = fixture.run_all(of);
    CHECK(lacking(fixture.loaded(folders)).empty());
    const std::filesystem::path merged = fixture.merge(folders, "merged");
    CHECK(text_of(merged / "best.json") == text_of(whole / "best.json"));
    CHECK(text_of(merged / "suite.json") == text_of(whole / "suite.json"));
    CHECK(records_of(merged) == records_of(whole));
    const auto journal = load_journal(merged / "journal.jsonl");
    REQUIRE(journal);
    CHECK(journal->header.merged.size() == of);
    const auto one_plan = load_journal(whole / "journal.jsonl")->header.plan;
    CHECK(dump(to_json(journal->header.plan)) == dump(to_json(one_plan)));
  }
}

TEST_CASE("a shard cut at any line, resumed and merged, changes nothing") {
  ShardFixture one;
  const std::filesystem::path whole = one.run_all(1).front();
  ShardFixture fixture;
  const Folders folders = fixture.run_all(2);
  const std::string journal = text_of(folders[1] / "journal.jsonl");
  std::size_t merges = 0, line = 0, in_finals = 0;
  for (std::size_t end = journal.find('\n'); end != std::string::npos;
       end = journal.find('\n', end + 1)) {
    const bool is_in_finals = journal.compare(end + 1, 12, R"({"t":"final")") == 0;
    if (line++ % 23 != 0 && !is_in_finals) continue;
    CAPTURE(line);
    in_finals += is_in_finals ? 1 : 0;
    std::filesystem::remove(folders[1] / "best.json");
    REQUIRE(replace_file(folders[1] / "journal.jsonl", journal.substr(0, end + 1)));
    CHECK_FALSE(lacking(fixture.loaded(folders)).empty());
    fixture.options.resume = true;
    fixture.run_shard(2, 2);
    const auto merged = fixture.merge(folders, "merged-" + std::to_string(++merges));
    CHECK(text_of(merged / "best.json") == text_of(whole / "best.json"));
    CHECK(finals_in(records_of(merged)) == finals_in(records_of(whole)));
  }
  CHECK(in_finals > 3);
  CHECK(merges > in_finals + 3);
}

TEST_CASE("a part that is merged is named, and a resumed sweep runs the rest of it") {
  ShardFixture one;
  const std::filesystem::path whole = one.run_all(1).front();
  ShardFixture fixture;
  Folders folders = fixture.run_all(4);
  folders.erase(folders.begin() + 1);
  const auto lacks = lacking(fixture.loaded(folders));
  REQUIRE(lacks.size() == 1);
  CHECK(lacks.front().find("shard 2 of 4 is missing, with s1024") != std::string::npos);
  const std::filesystem::path merged = fixture.merge(folders, "merged");
  CHECK(load_best_file(merged)->problems.size() == 4);

  fixture.choose(1, 1);
  fixture.options.out = merged;
  fixture.options.resume = true;
  FakeEvaluator evaluator(fixture.device);
  const SweepResult result = fixture.run_well(evaluator);
  CHECK(evaluator.problems_begun() == 1);
  CHECK(result.problems.size() == 5);
  const auto winners = [](const std::filesystem::path& run) {
    const auto file = load_best_file(run);
    REQUIRE(file);
    std::vector<std::string> texts;
    for (const SavedConfig& config : configs_of(*file)) texts.push_back(dump(config.config));
    return texts;
  };
  CHECK(winners(merged) == winners(whole));
}

TEST_CASE("the same results twice count once, other results of the same are refused") {
  ShardFixture fixture;
  Folders folders = fixture.run_all(2);
  const std::filesystem::path copy = fixture.folder / "copy";
  std::filesystem::copy(folders[0], copy);
  const std::string journal = text_of(copy / "journal.jsonl");
  REQUIRE(replace_file(copy / "journal.jsonl", journal.substr(0, journal.size() / 2)));
  folders.push_back(copy);
  const auto expected = fixture.merge(fixture.run_all(1), "expected");
  CHECK(records_of(fixture.merge(folders, "merged")) == records_of(expected));

  ShardFixture slower;
  slower.device.cost_on = [](const Config& config, const Problem&) {
    return 2 * test::toy_cost_us(config);
  };
  slower.run_shard(1, 2);
  const auto merged = merge_journals(fixture.loaded({folders[0], folders[1], slower.options.out}));
  REQUIRE_FALSE(merged);
  CHECK(merged.error().kind == ErrorKind::kUsage);
  CHECK(merged.error().message.find("runs of shard 1/2 with different results") !=
        std::string::npos);
  CHECK(merged.error().message.find(folders[0].string()) != std::string::npos);
  CHECK(merged.error().message.find(slower.options.out.string()) != std::string::npos);
}

TEST_CASE("runs of different plans, dealings and machines are refused with both sides named") {
  ShardFixture fixture;
  const Folders folders = fixture.run_all(2);
  const auto second = [&](const std::function<void(JournalHeader&)>& edit) {
    const std::filesystem::path copy = fixture.folder / "edited";
    std::filesystem::remove_all(copy);
    std::filesystem::copy(folders[1], copy);
    edit_header(copy, edit);
    return Folders{folders[0], copy};
  };
  check_refused(second([](JournalHeader& x) { x.environment.driver = "1.2"; }), "driver is ");
  check_refused(second([](JournalHeader& x) { x.environment.nvrtc = "1.2"; }), "NVRTC is ");
  check_refused(second([](JournalHeader& x) { x.environment.fatune = "9.9.9"; }),
                "9.9.9 in the other");
  check_refused(second([](JournalHeader& x) { x.environment.device_name = "Abacus"; }),
                "Abacus in the other");
  check_refused(second([](JournalHeader& x) { x.environment.recorded = true; }),
                "a GPU in the one and a recording in the other");
  check_refused(second([](JournalHeader& x) {
                  x.plan.seed = 7;
                  x.plan.shard->plan = "other";
                }),
                "--seed is '42' in the one and '7' in the other");
  check_refused(second([](JournalHeader& x) {
                  x.plan.kernel_hashes = {std::string(64, 'a')};
                  x.plan.shard->plan = "other";
                }),
                "the template text of kernel toy");
  check_refused(second([](JournalHeader& x) { x.plan.shard->plan = "other"; }), "other configs");
  check_refused(second([](JournalHeader& x) { x.plan.shard->of = 3; }),
                "one is shard 1/2, the other 2/3");
  check_refused(second([](JournalHeader& x) {
                  x.plan.shard->problems = {0, 1, 2, 3, 4};
                }),
                "shards 1/2 and 2/2 both have");
  const auto whole = second([](JournalHeader& x) { x.plan.shard.reset(); });
  const auto runs = load_shard_runs(whole);
  REQUIRE_FALSE(runs);
  CHECK(runs.error().message.find("of a whole run") != std::string::npos);
}

TEST_CASE("a best.json of another shard's run is refused, with both files named") {
  ShardFixture fixture;
  const Folders folders = fixture.run_all(2);
  const std::filesystem::path both = fixture.folder / "both";
  std::filesystem::create_directories(both);
  std::filesystem::copy(folders[0] / "journal.jsonl", both / "one.jsonl");
  std::filesystem::copy(folders[1] / "journal.jsonl", both / "two.jsonl");
  std::filesystem::copy(folders[0] / "best.json", both / "best.json");
  CHECK(load_shard_runs({both / "one.jsonl"}));
  const auto runs = load_shard_runs({both / "one.jsonl", both / "two.jsonl"});
  REQUIRE_FALSE(runs);
  CAPTURE(runs.error().message);
  CHECK(runs.error().kind == ErrorKind::kUsage);
  for (const std::string& words :
       {(both / "two.jsonl").string() + " and " + (both / "best.json").string(),
        std::string("and shard 2/2 has not")})
    CHECK(runs.error().message.find(words) != std::string::npos);
}

TEST_CASE("a run whose best.json is missing is named, unless another run of its shard has it") {
  ShardFixture fixture;
  const Folders folders = fixture.run_all(2);
  const std::filesystem::path copy = fixture.folder / "copy";
  std::filesystem::create_directories(copy);
  std::filesystem::copy(folders[1] / "journal.jsonl", copy / "journal.jsonl");
  const auto lacks = lacking(fixture.loaded({folders[0], copy}));
  REQUIRE(lacks.size() == 1);
  CAPTURE(lacks.front());
  CHECK(lacks.front().starts_with((copy / "journal.jsonl").string() + " of shard 2/2 has results"));
  CHECK(lacks.front().find("fatune resume " + copy.string()) != std::string::npos);
  CHECK(lacking(fixture.loaded({folders[0], folders[1], copy})).empty());
  std::filesystem::rename(copy / "journal.jsonl", copy / "two.jsonl");
  CHECK(lacking(fixture.loaded({folders[0], copy / "two.jsonl"}))
            .front()
            .ends_with("best.json beside it has: merge the folder of its run"));
}

TEST_CASE("a merged run names the GPUs of its shards, and none of them as its own") {
  ShardFixture fixture;
  fixture.gpus = {"GPU-a", "GPU-b"};
  const Folders folders = fixture.run_all(2);
  edit_header(folders[1], [](JournalHeader& x) { x.helpers = {x.environment}; });
  const std::filesystem::path merged = fixture.merge(folders, "merged");
  const auto journal = load_journal(merged / "journal.jsonl");
  REQUIRE(journal);
  REQUIRE(journal->header.merged.size() == 2);
  CHECK(journal->header.merged[0].device_uuid == "GPU-a");
  CHECK(journal->header.merged[1].device_uuid == "GPU-b");
  CHECK(journal->header.environment.device_uuid.empty());
  REQUIRE(journal->header.helpers.size() == 1);
  CHECK(journal->header.helpers.front().device_uuid == "GPU-b");
  const auto best = load_best_file(merged);
  REQUIRE(best);
  const auto loaded = fixture.loaded(folders);
  for (std::size_t i = 0; i < best->problems.size(); ++i) {
    const auto& of_first = loaded.front().shard().problems;
    CHECK(best->problems[i].gpu == (std::ranges::count(of_first, i) > 0 ? "GPU-a" : "GPU-b"));
  }
}

TEST_CASE("a merged run names the GPU on which a resumed shard had a final phase") {
  ShardFixture fixture;
  fixture.gpus = {"GPU-a", "GPU-a"};
  const Folders folders = fixture.run_all(2);
  const auto shard = load_journal(folders[1] / "journal.jsonl");
  REQUIRE(shard);
  const auto& elsewhere = fixture.options.plan.problems.at(shard->header.plan.shard->problems[0]);
  std::string text = dump(to_json(shard->header)) + "\n";
  for (Record record : shard->records) {
    // The other records lack their GPU, as in older journals.
    if (auto* final = std::get_if<FinalRecord>(&record))
      final->gpu = final->problem == elsewhere.problem ? "GPU-b" : "";
    text += dump(to_json(record)) + "\n";
  }
  REQUIRE(replace_file(folders[1] / "journal.jsonl", text));
  const auto best = load_best_file(fixture.merge(folders, "merged"));
  REQUIRE(best);
  CHECK(best->device->device_uuid.empty());
  for (const BestProblem& problem : best->problems) {
    CAPTURE(problem.name);
    CHECK(problem.gpu == (problem.name == elsewhere.name ? "GPU-b" : "GPU-a"));
  }
}

TEST_CASE("a merged journal is there only when all the rest is") {
  ShardFixture fixture;
  const Folders folders = fixture.run_all(2);
  const auto runs = fixture.loaded(folders);
  const auto journal = merge_journals(runs);
  REQUIRE(journal);
  const auto best = merge_best(runs, *journal);
  REQUIRE(best);
  // A folder named suite.json prevents the file from being written.
  const std::filesystem::path out = fixture.folder / "merged";
  std::filesystem::create_directories(out / "suite.json");
  CHECK_FALSE(save_merged(*journal, *best, out, ""));
  CHECK(std::filesystem::exists(out / "best.json"));
  CHECK_FALSE(std::filesystem::exists(out / "journal.jsonl"));
  // After a kill at this point, repeating the merge completes it.
  std::filesystem::remove(out / "suite.json");
  CHECK(save_merged(*journal, *best, out, ""));
  CHECK(load_journal(out / "journal.jsonl")->records.size() == journal->records.size());
}

TEST_CASE("a folder that has a run, and a best.json of other results, are refused") {
  ShardFixture fixture;
  const Folders folders = fixture.run_all(2);
  auto runs = fixture.loaded(folders);
  const auto journal = merge_journals(runs);
  REQUIRE(journal);
  const auto best = merge_best(runs, *journal);
  REQUIRE(best);
  const Status used = save_merged(*journal, *best, folders[0], "");
  REQUIRE_FALSE(used);
  CHECK(used.error().message.find("holds a journal already") != std::string::npos);
  runs.front().best->problems.front().finalists.front().id = "another";
  const auto foreign = merge_best(runs, *journal);
  REQUIRE_FALSE(foreign);
  CHECK(foreign.error().message.find("no journal holds the final phase") != std::string::npos);
}

}  // namespace
}  // namespace fatune
