// journals.cpp: Fuzzes journals as records, as datasets, and as files of other tuners.
#include "fuzz.hpp"
#include "model/results/journal.hpp"
#include "search/datasets/formats.hpp"
#include "search/datasets/journal_dataset.hpp"
#include "tune/sweep/shard_runs.hpp"

namespace fatune::fuzz {

namespace {

void check_reads_back(const Journal& journal) {
  std::string written = dump(to_json(journal.header)) + "\n";
  for (const Record& record : journal.records) written += dump(to_json(record)) + "\n";
  const auto again = parse_journal(written, "written");
  if (!again) fail_unreadable(again.error());
  FATUNE_CHECK(!again->cut && again->records.size() == journal.records.size(), "no line is lost");
  for (std::size_t i = 0; i < again->records.size(); ++i)
    FATUNE_CHECK(dump(to_json(again->records[i])) == dump(to_json(journal.records[i])),
                 "a record reads back as it was");
}

}  // namespace

void journal(std::string_view text) {
  const auto parsed = parse_journal(text, "x");
  if (parsed) check_reads_back(*parsed);
}

void merge(std::string_view text) {
  auto parsed = parse_journal(text, "x");
  if (!parsed || !parsed->header.plan.shard) return;
  const std::vector<ShardRun> runs(2, {"x", *std::move(parsed), std::nullopt});
  static_cast<void>(lacking(runs));
  const auto merged = merge_journals(runs);
  FATUNE_CHECK(merged, "a shard merges with its own copy");
  check_reads_back(*merged);
}

void journal_files(std::string_view text) {
  static_cast<void>(read_journal(text, "x"));
  const auto parsed = parse_journal(text, "x");
  if (!parsed) return;
  for (const JournalGroup& group : group_candidates(*parsed)) {
    static_cast<void>(dump(t4_results(group, *parsed)));
    if (const auto cache = kernel_tuner_cache(group, *parsed))
      static_cast<void>(read_kernel_tuner(*cache, "written"));
  }
}

}  // namespace fatune::fuzz
