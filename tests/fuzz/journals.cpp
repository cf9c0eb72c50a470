// journals.cpp - journals as records, as datasets, and as files of other tuners.
#include "fuzz.hpp"
#include "model/results/journal.hpp"
#include "search/datasets/formats.hpp"
#include "search/datasets/journal_dataset.hpp"

namespace fatune::fuzz {

void journal(std::string_view text) {
  const auto parsed = parse_journal(text, "x");
  if (!parsed) return;
  std::string written = dump(to_json(parsed->header)) + "\n";
  for (const Record& record : parsed->records) written += dump(to_json(record)) + "\n";
  const auto again = parse_journal(written, "written");
  if (!again) fail_unreadable(again.error());
  FATUNE_CHECK(!again->cut && again->records.size() == parsed->records.size(), "no line is lost");
  for (std::size_t i = 0; i < again->records.size(); ++i)
    FATUNE_CHECK(dump(to_json(again->records[i])) == dump(to_json(parsed->records[i])),
                 "a record reads back as it was");
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
