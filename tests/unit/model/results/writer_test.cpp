// writer_test.cpp: Checks writing of journals: append, resume, lock, full and read-only disks.
#include <filesystem>

#include <catch2/catch_test_macros.hpp>
#include <signal.h>
#include <sys/resource.h>

#include "core/file.hpp"
#include "sample_journal.hpp"
#include "support/temporary_folder.hpp"

namespace fatune {
namespace {

namespace fs = std::filesystem;
using test::sample_header;
using test::sample_records;

std::string text_of(const fs::path& path) {
  const auto text = read_file(path);
  REQUIRE(text);
  return *text;
}

void write_sample(const fs::path& folder) {
  auto writer = JournalWriter::create(folder, sample_header());
  REQUIRE(writer);
  for (const Record& record : sample_records()) REQUIRE(writer->append(record));
}

TEST_CASE("a writer makes its folder and appends line by line") {
  const test::TemporaryFolder folder;
  write_sample(folder / "a/b");
  CHECK(text_of(folder / "a/b/journal.jsonl") == test::sealed_text(sample_records()));
}

TEST_CASE("a journal does not grow beyond what is read") {
  const test::TemporaryFolder folder;
  auto writer = JournalWriter::create(folder.path(), sample_header());
  REQUIRE(writer);
  const auto path = folder / "journal.jsonl";
  const EndRecord end{"complete", 1};
  CHECK(writer->append(end));
  CHECK_FALSE(writer->is_nearly_full());
  fs::resize_file(path, kJournalFile / 16 * 15 + 1);
  CHECK(writer->append(end));
  CHECK(writer->is_nearly_full());
  fs::resize_file(path, kJournalFile - 10);
  const Status refused = writer->append(end);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message.find("would hold more than 512.0 MiB, the most that is read") !=
        std::string::npos);
  CHECK(fs::file_size(path) == kJournalFile - 10);
}

TEST_CASE("a folder that holds a journal is not overwritten") {
  const test::TemporaryFolder folder;
  write_sample(folder.path());
  const auto again = JournalWriter::create(folder.path(), sample_header());
  REQUIRE_FALSE(again);
  CHECK(again.error().kind == ErrorKind::kFile);
  CHECK(again.error().message.find("fatune resume " + folder.path().string()) != std::string::npos);
  CHECK(text_of(folder / "journal.jsonl") == test::sealed_text(sample_records()));
}

TEST_CASE("a failed line takes those about candidates on the device with it") {
  const test::TemporaryFolder folder;
  write_sample(folder.path());
  const std::string before = text_of(folder / "journal.jsonl");
  const auto records = sample_records();
  auto writer = JournalWriter::resume(folder.path());
  REQUIRE(writer);
  REQUIRE(writer->append(records[0]));
  REQUIRE(writer->append(records[0]));
  const rlimit full{before.size() + 300, RLIM_INFINITY};
  rlimit usual{};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &usual) == 0);
  const auto handler = ::signal(SIGXFSZ, SIG_IGN);
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &full) == 0);
  CHECK_FALSE(writer->append(records[1]));
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &usual) == 0);
  ::signal(SIGXFSZ, handler);
  CHECK(text_of(folder / "journal.jsonl") == before);
}

TEST_CASE("two writers of one folder are refused") {
  const test::TemporaryFolder folder;
  const auto first = JournalWriter::create(folder.path(), sample_header());
  REQUIRE(first);
  const auto second = JournalWriter::resume(folder.path());
  REQUIRE_FALSE(second);
  CHECK(second.error().message.find("another sweep is writing into this folder") !=
        std::string::npos);
  CHECK_FALSE(JournalWriter::create(folder.path(), sample_header()));
}

TEST_CASE("a resumed journal loses its cut line, and only that") {
  const test::TemporaryFolder folder;
  write_sample(folder.path());
  const fs::path path = folder / "journal.jsonl";
  const std::string whole = text_of(path);
  const std::size_t header_bytes = whole.find('\n') + 1;
  for (std::size_t length = header_bytes; length <= whole.size(); length += 7) {
    CAPTURE(length);
    REQUIRE(replace_file(path, whole.substr(0, length)));
    {
      auto writer = JournalWriter::resume(folder.path());
      REQUIRE(writer);
      REQUIRE(writer->append(EndRecord{"interrupted", 1}));
    }
    const auto journal = load_journal(path);
    REQUIRE(journal);
    CHECK_FALSE(journal->cut);
    CHECK(std::holds_alternative<EndRecord>(journal->records.back()));
  }
}

TEST_CASE("a journal that an editor gave a byte-order mark is resumed whole") {
  const test::TemporaryFolder folder;
  write_sample(folder.path());
  const fs::path path = folder / "journal.jsonl";
  const std::string marked = "\xEF\xBB\xBF" + text_of(path);
  for (const char* rest : {"", "{\"cut"}) {
    REQUIRE(replace_file(path, marked + rest));
    REQUIRE(JournalWriter::resume(folder.path()));
    CHECK("\xEF\xBB\xBF" + text_of(path) == marked);
  }
}

TEST_CASE("there is nothing to resume in a folder without a journal") {
  const test::TemporaryFolder folder;
  const auto writer = JournalWriter::resume(folder / "none");
  REQUIRE_FALSE(writer);
  CHECK(writer.error().message.starts_with("resume: "));
  CHECK_FALSE(fs::exists(folder / "none"));
}

TEST_CASE("a full disk is a file error that names the journal") {
  const test::TemporaryFolder folder;
  fs::create_symlink("/dev/full", folder / "journal.jsonl");
  const auto writer = JournalWriter::create(folder.path(), sample_header());
  REQUIRE_FALSE(writer);
  CHECK(writer.error().kind == ErrorKind::kFile);
  CHECK(writer.error().message.find("journal.jsonl") != std::string::npos);
}

TEST_CASE("a folder that cannot be made is a file error") {
  const auto writer =
      JournalWriter::create("/proc/fatune/run", sample_header());  // not even by root
  REQUIRE_FALSE(writer);
  CHECK(writer.error().kind == ErrorKind::kFile);
  CHECK(writer.error().message.find("/proc/fatune/run") != std::string::npos);
}

TEST_CASE("a file where the folder should be is a file error") {
  const test::TemporaryFolder folder;
  REQUIRE(replace_file(folder / "run", "x"));
  const auto writer = JournalWriter::create(folder / "run", sample_header());
  REQUIRE_FALSE(writer);
  CHECK(writer.error().kind == ErrorKind::kFile);
}

}  // namespace
}  // namespace fatune
