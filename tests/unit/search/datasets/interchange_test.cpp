// interchange_test.cpp: Tests conversions of journals to recordings and to other tuners' formats.
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include "core/fields.hpp"
#include "core/file.hpp"
#include "sample_files.hpp"
#include "search/datasets/journal_dataset.hpp"

using namespace fatune;

namespace {

CandidateRecord candidate(int block, bool flag, Outcome outcome, std::optional<double> us) {
  CandidateRecord record;
  record.id = "id" + std::to_string(block) + (flag ? "t" : "f");
  record.kernel = "fa_test";
  record.config = {{"BLOCK_M", block}, {"REDUCE", block > 64 ? "warp" : "block"}, {"FLAG", flag}};
  record.problem = Attention{.batch = 4, .heads = 8, .kv_heads = 8, .seq_q = 512, .seq_kv = 512};
  record.outcome = outcome;
  record.spent.compile_s = 0.5;
  record.spent.verify_s = 0.25;
  record.spent.timing_s = 0.125;
  if (us) record.hot = Timing{.median_us = *us, .q1_us = *us, .q3_us = *us, .min_us = *us};
  if (outcome == Outcome::kMeasured) {
    record.verification = Verification{.passed = true};
  } else {
    record.reason = "because";
  }
  return record;
}

Journal sample_journal() {
  Journal journal;
  journal.header.plan.objective = Objective::kHot;
  journal.header.environment.device_name = "Formula 1";
  journal.header.environment.limits.arch = {90, 'a'};
  CandidateRecord duplicate = candidate(128, true, Outcome::kDuplicate, {});
  duplicate.duplicate_of = "id64t";
  journal.records = {candidate(128, false, Outcome::kMeasured, 11.25),
                     candidate(64, true, Outcome::kMeasured, 9.75),
                     candidate(32, true, Outcome::kPruned, 40.5),
                     duplicate,
                     candidate(32, false, Outcome::kTimeout, {}),
                     candidate(16, true, Outcome::kWrongResult, {}),
                     candidate(16, false, Outcome::kCompileError, {}),
                     candidate(8, true, Outcome::kCrashed, {}),
                     candidate(8, false, Outcome::kLaunchError, {}),
                     candidate(64, false, Outcome::kInfeasible, {})};
  return journal;
}

std::string journal_text(const Journal& journal) {
  std::string text = dump(to_json(journal.header)) + "\n";
  for (const Record& record : journal.records) text += dump(to_json(record)) + "\n";
  return text;
}

/// The config of a point in words: orders of values may differ between formats.
std::string config_text(const Recording& recording, std::uint64_t index) {
  const Point point = recording.lattice.point(index);
  std::string text;
  for (std::size_t i = 0; i < point.size(); ++i)
    text += recording.axes[i].name + "=" + describe(recording.axes[i].values[point[i]]) + " ";
  return text;
}

/// Costs in microseconds.
void check_same(const Recording& read, const Recording& original, double us_per_cost) {
  CHECK(read.name == original.name);
  CHECK(read.device == original.device);
  CHECK(read.problem == original.problem);
  REQUIRE(read.lattice.size() == original.lattice.size());
  for (std::uint64_t i = 0; i < read.lattice.size(); ++i) {
    CAPTURE(config_text(read, i));
    CHECK(config_text(read, i) == config_text(original, i));
    CHECK(read.entries[i].failure == original.entries[i].failure);
    CHECK(*read.entries[i].seconds == Catch::Approx(*original.entries[i].seconds));
    REQUIRE(read.entries[i].cost.has_value() == original.entries[i].cost.has_value());
    if (read.entries[i].cost)
      CHECK(*read.entries[i].cost * us_per_cost == Catch::Approx(*original.entries[i].cost));
  }
}

}  // namespace

TEST_CASE("a journal becomes a recording with what the search was told") {
  const Recording recording = test::recording_of(journal_text(sample_journal()));
  CHECK(recording.format == "fatune");
  CHECK(recording.name == "fa_test");
  CHECK(recording.device == "Formula 1");
  CHECK(recording.objective == "hot");
  CHECK(recording.unit == "us");
  CHECK(recording.lattice.size() == 10);
  const auto at = [&](const std::string& text) -> const RecordedEntry& {
    for (std::uint64_t i = 0; i < recording.lattice.size(); ++i) {
      if (config_text(recording, i) == text) return recording.entries[i];
    }
    FAIL("there is no " + text);
    return recording.entries[0];
  };
  CHECK(at("BLOCK_M=64 REDUCE=block FLAG=true ").cost == 9.75);
  CHECK(at("BLOCK_M=128 REDUCE=warp FLAG=true ").cost == 9.75);  // as what it repeats
  CHECK(at("BLOCK_M=32 REDUCE=block FLAG=true ").cost == 40.5);  // given up, with a time
  CHECK(at("BLOCK_M=32 REDUCE=block FLAG=false ").failure == "timeout");
  CHECK(at("BLOCK_M=16 REDUCE=block FLAG=true ").failure == "correctness");
  CHECK(at("BLOCK_M=16 REDUCE=block FLAG=false ").failure == "compile");
  CHECK(at("BLOCK_M=8 REDUCE=block FLAG=true ").failure == "runtime");
  CHECK(at("BLOCK_M=64 REDUCE=block FLAG=false ").failure == "constraints");
  CHECK(at("BLOCK_M=64 REDUCE=block FLAG=true ").seconds == 0.875);
}

TEST_CASE("a journal's kernels and problems are recordings of their own, in a folder or packed") {
  Journal journal = sample_journal();
  CandidateRecord other = candidate(64, true, Outcome::kMeasured, 5.0);
  other.problem.as_attention().batch = 1;
  journal.records.push_back(other);
  const test::TemporaryFolder folder;
  REQUIRE(replace_file(folder / "journal.jsonl.gz", journal_text(journal) + "{\"cut"));
  const auto recordings = read_recordings(folder.path());
  REQUIRE(recordings);
  REQUIRE(recordings->size() == 2);
  CHECK((*recordings)[1].problem == "1,8,512,64 f16");
  CHECK((*recordings)[1].where.ends_with("journal.jsonl.gz: fa_test 1,8,512,64 f16"));
  CHECK((*recordings)[0].remarks[0] == "cut last line: dropped");
}

TEST_CASE("a journal without a candidate holds no config") {
  Journal journal = sample_journal();
  journal.records.clear();
  CHECK(test::error_of(journal_text(journal)) == "file.json: holds no config");
}

TEST_CASE("a journal comes back from a Kernel Tuner cache as it was") {
  const Journal journal = sample_journal();
  const auto groups = group_candidates(journal);
  REQUIRE(groups.size() == 1);
  const auto cache = kernel_tuner_cache(groups[0], journal);
  REQUIRE(cache);
  CHECK(cache->ends_with("}}\n}"));
  const Recording read = test::recording_of(*cache);
  CHECK(read.format == "kernel-tuner");
  CHECK(read.unit == "ms");
  check_same(read, test::recording_of(journal_text(journal)), 1000);
  const Recording unclosed = test::recording_of(cache->substr(0, cache->size() - 3) + ",");
  CHECK(unclosed.lattice.size() == read.lattice.size());
}

TEST_CASE("a journal comes back from T4 results as it was") {
  const Journal journal = sample_journal();
  const auto groups = group_candidates(journal);
  const Json results = t4_results(groups[0], journal);
  const Recording read = test::recording_of(dump_pretty(results));
  CHECK(read.format == "t4");
  check_same(read, test::recording_of(journal_text(journal)), 1000);
}

TEST_CASE("recorded and unchecked times are called so in every format, and read back so") {
  Journal journal = sample_journal();
  CHECK(test::recording_of(journal_text(journal)).remarks.empty());
  journal.header.environment.recorded = true;
  journal.header.plan.skip_correctness = true;
  const auto group = group_candidates(journal)[0];
  const auto cache = kernel_tuner_cache(group, journal);
  REQUIRE(cache);
  const std::vector<std::string> said = cautions(journal.header);
  REQUIRE(said.size() == 2);
  CHECK(said[0].starts_with("recorded: "));
  CHECK(said[1].starts_with("unchecked: "));
  CHECK(test::recording_of(*cache).remarks == said);
  CHECK(test::recording_of(dump(t4_results(group, journal))).remarks == said);
  CHECK(test::recording_of(journal_text(journal)).remarks == said);
}

TEST_CASE("T4 results say what really became of a candidate") {
  const Journal journal = sample_journal();
  const Json results = t4_results(group_candidates(journal)[0], journal);
  CHECK(results.at("schema_version") == "1.0.0");
  std::vector<std::string> invalidities;
  for (const Json& result : results.at("results"))
    invalidities.push_back(result.at("invalidity").get<std::string>());
  CHECK(invalidities == std::vector<std::string>{"correct", "correct", "correct", "correct",
                                                 "timeout", "correctness", "compile", "runtime",
                                                 "runtime", "constraints"});
  CHECK(results.at("results")[0].at("correctness") == 1);
  CHECK(results.at("results")[5].at("correctness") == 0);
  CHECK(results.at("results")[3].at("correctness") == 1);  // repeats one that passed
  Journal unchecked = journal;
  for (Record& record : unchecked.records) {
    auto& checked = std::get<CandidateRecord>(record).verification;
    if (checked) checked->skipped = true;
  }
  const Json of_unchecked = t4_results(group_candidates(unchecked)[0], unchecked);
  for (const Json& each : of_unchecked.at("results")) CHECK(each.at("correctness") == 0);
}

TEST_CASE("Kernel Tuner has no room for a comma in a value") {
  Journal journal = sample_journal();
  auto record = candidate(64, true, Outcome::kMeasured, 1.0);
  record.config["REDUCE"] = "a,b";
  journal.records = {record};
  const auto cache = kernel_tuner_cache(group_candidates(journal)[0], journal);
  REQUIRE_FALSE(cache);
  CHECK(cache.error().message.find("REDUCE=a,b") != std::string::npos);
}
