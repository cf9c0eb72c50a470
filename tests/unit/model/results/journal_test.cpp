// journal_test.cpp: Checks reading of journals: whole, cut at every byte, damaged, newer,
// compressed.
#include "model/results/journal.hpp"

#include <algorithm>

#include <catch2/catch_test_macros.hpp>

#include "core/file.hpp"
#include "sample_journal.hpp"
#include "support/temporary_folder.hpp"

namespace fatune {
namespace {

using test::journal_text;
using test::sample_records;

std::string dumped(const Record& record) { return dump(to_json(record)); }

std::string error_of(std::string_view text) {
  const auto journal = parse_journal(text, "j");
  REQUIRE_FALSE(journal);
  CHECK(journal.error().kind == ErrorKind::kFile);
  return journal.error().message;
}

TEST_CASE("a journal reads back as it was written") {
  const auto journal = parse_journal(journal_text(sample_records()), "j");
  REQUIRE(journal);
  CHECK_FALSE(journal->cut);
  CHECK(difference(journal->header.plan, test::sample_plan()).empty());
  CHECK(journal->header.plan.command == test::sample_plan().command);
  CHECK(journal->header.environment.device_name == "Formula 1");
  const auto expected = sample_records();
  REQUIRE(journal->records.size() == expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    CHECK(dumped(journal->records[i]) == dumped(expected[i]));
  }
}

TEST_CASE("a time that is none, and a kernel without a kernel's name, are refused by line") {
  const std::string text = journal_text(sample_records());
  const auto with = [&](const std::string& before, const std::string& after) {
    std::string changed = text;
    const std::size_t at = changed.find(before);
    REQUIRE(at != std::string::npos);
    const std::size_t end = changed.find_first_of(",}", at + before.size());
    return error_of(changed.replace(at, end - at, before + after));
  };
  for (const char* time : {"0", "-5.5", "\"inf\"", "\"nan\""}) {
    CAPTURE(time);
    CHECK(with("\"median_us\":", time).find(".median_us' must be ") != std::string::npos);
  }
  CHECK(with("\"min_us\":", "\"-inf\"").find(".min_us' must be a number") != std::string::npos);
  CHECK(
      with("\"kernel\":", "\"../../x\"").find("field 'kernel' is '../../x', not a kernel's name") !=
      std::string::npos);
}

TEST_CASE("a difference of layers that noise made no time is not written") {
  CandidateRecord record;
  record.in_layer = Timing{.median_us = -0.1};
  CHECK_FALSE(to_json(record).contains("in_layer"));
  record.in_layer->median_us = 0.1;
  CHECK(to_json(record).contains("in_layer"));
}

TEST_CASE("a journal cut at any byte loses its last record at most") {
  const std::string text = journal_text(sample_records());
  const std::size_t header_bytes = text.find('\n') + 1;
  for (std::size_t length = 0; length <= text.size(); ++length) {
    CAPTURE(length);
    const std::string cut = text.substr(0, length);
    const auto journal = parse_journal(cut, "j");
    REQUIRE(static_cast<bool>(journal) == (length >= header_bytes));
    if (!journal) continue;
    const auto lines = std::count(cut.begin(), cut.end(), '\n');
    CHECK(journal->records.size() == static_cast<std::size_t>(lines) - 1);
    CHECK(journal->cut == (cut.back() != '\n'));
  }
}

TEST_CASE("a broken line in the middle is an error with its number") {
  std::string text = journal_text(sample_records());
  const std::size_t second = text.find('\n') + 1;
  text.insert(second, "{\"t\":\n");
  CHECK(error_of(text).starts_with("j: line 2"));
  text.replace(second, 6, "{\"t\":\"tea\"}\n");
  CHECK(error_of(text).starts_with("j: line 2"));
}

std::vector<std::string> dumped(const Journal& journal) {
  std::vector<std::string> all;
  for (const Record& record : journal.records) all.push_back(dumped(record));
  return all;
}

TEST_CASE("no byte of a journal with checksums changes or is lost unnoticed") {
  const std::string text = test::sealed_text(sample_records());
  const auto whole = parse_journal(text, "j");
  REQUIRE(whole);
  CHECK(dumped(*whole) == dumped(*parse_journal(journal_text(sample_records()), "j")));
  for (std::size_t at = 0; at + 1 < text.size(); ++at) {
    CAPTURE(at);
    std::string lost = text, changed = text;
    lost.erase(at, 1);
    changed[at] = changed[at] == '7' ? '8' : '7';
    for (const std::string& damaged : {lost, changed}) {
      const auto journal = parse_journal(damaged, "j");
      // The rest is a line whose checksum has another name, and so is none.
      if (journal) CHECK(dumped(*journal) == dumped(*whole));
    }
  }
}

TEST_CASE("an edited line is told from a damaged one, and says what to do") {
  std::string text = test::sealed_text(sample_records());
  text.replace(text.find("9.75"), 4, "1.75");
  CHECK(error_of(text) ==
        "j: line 3: was changed after it was written: its crc is that of another text. If you "
        "edited it, take the crc out; `fatune report --salvage` reads the lines around it");
  const std::size_t crc = text.find(",\"crc\"", text.find("1.75"));
  text.erase(crc, text.find('}', crc) - crc);
  CHECK(parse_journal(text, "j"));
  text.replace(text.find("1.75"), 4, std::string(4, '\0'));
  CHECK(error_of(text).find("not valid JSON") != std::string::npos);
}

TEST_CASE("salvaging leaves damaged lines out and counts them") {
  const std::string text = test::sealed_text(sample_records());
  std::string damaged = text;
  damaged.insert(damaged.find('\n') + 1, "\n{\"t\":\"tea\"}\n");
  damaged.replace(damaged.find("9.75"), 4, "1.75");
  const auto journal = parse_journal(damaged, "j", Damage::kLeaveOut);
  REQUIRE(journal);
  CHECK(journal->records.size() == sample_records().size() - 1);
  REQUIRE(journal->left_out.size() == 3);
  CHECK(journal->left_out[0].message.starts_with("j: line 2"));
  CHECK(journal->left_out[2].message.starts_with("j: line 5: was changed"));
  CHECK_FALSE(parse_journal("\n" + text, "j", Damage::kLeaveOut));
}

TEST_CASE("a newer journal is refused with the version that this fatune reads") {
  std::string text = journal_text({});
  text.replace(text.find("journal/1"), 9, "journal/2");
  CHECK(error_of(text) ==
        "j: line 1: is a fatune.journal/2, written by a newer fatune; this one reads "
        "fatune.journal/1. "
        "Update fatune to read it");
}

TEST_CASE("a journal from before the first release names the program that reads it") {
  std::string text = journal_text({});
  const std::string name = R"("environment":{"name")";
  text.replace(text.find(name), name.size(), R"("environment":{"device_name")");
  CHECK(error_of(text) ==
        "j: line 1: is a fatune.journal/1 from before the first release; fatune at commit 2b9a2ab5 "
        "reads it");
}

TEST_CASE("what is no journal is said to be none") {
  CHECK(error_of("") == "j: is empty, not a fatune journal");
  CHECK(error_of("{\"schema\":\"other/1\"}\n") ==
        "j: line 1: is not a fatune journal: its schema is 'other/1', not 'fatune.journal/1'");
  CHECK(error_of("hello\n").starts_with("j: line 1"));
  CHECK(error_of("[1]\n").starts_with("j: line 1"));
  CHECK(error_of("{\"schema\":\"fatune.jour").find("header is cut off") != std::string::npos);
  CHECK(error_of("{\"cache\":{}}") ==
        "j: line 1: is not a fatune journal, whose first line begins with "
        "{\"schema\":\"fatune.journal/");
}

TEST_CASE("a compressed journal reads like a plain one") {
  const test::TemporaryFolder folder;
  const auto path = folder / "journal.jsonl.gz";
  REQUIRE(replace_file(path, journal_text(sample_records())));
  const auto bytes = read_file(path);
  REQUIRE(bytes);
  const auto journal = load_journal(path);
  REQUIRE(journal);
  CHECK(journal->records.size() == sample_records().size());
}

TEST_CASE("a missing journal is a file error with its path") {
  const auto journal = load_journal("/nowhere/journal.jsonl");
  REQUIRE_FALSE(journal);
  CHECK(journal.error().kind == ErrorKind::kFile);
  CHECK(journal.error().message.find("/nowhere/journal.jsonl") != std::string::npos);
}

}  // namespace
}  // namespace fatune
