// file_test.cpp: Tests reading, replacing, appending and locking of files, and their errors.
#include "core/file.hpp"

#include <chrono>
#include <csignal>
#include <fstream>
#include <thread>

#include <catch2/catch_test_macros.hpp>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/append_file.hpp"
#include "core/gzip.hpp"
#include "support/temporary_folder.hpp"

using namespace fatune;

namespace {

std::size_t count_files(const std::filesystem::path& folder) {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    static_cast<void>(entry);
    ++count;
  }
  return count;
}

}  // namespace

TEST_CASE("whether a file can be written is known before, and leaves nothing behind") {
  const test::TemporaryFolder folder;
  REQUIRE(replace_file(folder / "old", "kept"));
  CHECK(check_replaceable(folder / "old"));
  CHECK(check_replaceable(folder / "new"));
  CHECK(*read_file(folder / "old") == "kept");
  CHECK(count_files(folder.path()) == 1);
  const auto missing = folder / "none" / "file";
  CHECK(check_replaceable(missing).error().message ==
        missing.string() + ": cannot write: No such file or directory");
  CHECK(check_replaceable(folder.path()).error().message.find("cannot replace") !=
        std::string::npos);
}

TEST_CASE("replace_file then read_file gives the same bytes") {
  const test::TemporaryFolder folder;
  std::string bytes;
  for (unsigned i = 0; i < 300'000; ++i) bytes += static_cast<char>(i * i / 7);
  for (const char* name : {"plain", "packed.gz"}) {
    CAPTURE(name);
    REQUIRE(replace_file(folder / name, "old"));
    REQUIRE(replace_file(folder / name, bytes));
    CHECK(*read_file(folder / name) == bytes);
    REQUIRE(replace_file(folder / name, ""));
    CHECK(read_file(folder / name)->empty());
  }
  CHECK(count_files(folder.path()) == 2);  // nothing left beside
}

TEST_CASE("a byte-order mark is not part of a file's text") {
  const test::TemporaryFolder folder;
  for (const char* name : {"plain", "packed.gz"}) {
    REQUIRE(replace_file(folder / name, "\xEF\xBB\xBF{}\xEF\xBB\xBF"));
    CHECK(*read_file(folder / name) == "{}\xEF\xBB\xBF");
  }
}

TEST_CASE("what is replaced keeps its permissions, and a link to it stays") {
  const test::TemporaryFolder folder;
  REQUIRE(replace_file(folder / "secret", "old"));
  const auto mine = std::filesystem::perms::owner_read | std::filesystem::perms::owner_write;
  std::filesystem::permissions(folder / "secret", mine);
  std::filesystem::create_symlink("secret", folder / "link");
  std::filesystem::create_symlink("new", folder / "dangling");
  for (const char* name : {"link", "dangling"}) {
    CAPTURE(name);
    CHECK(check_replaceable(folder / name));
    REQUIRE(replace_file(folder / name, "content"));
    CHECK(std::filesystem::is_symlink(folder / name));
    CHECK(*read_file(folder / name) == "content");
  }
  CHECK(std::filesystem::status(folder / "secret").permissions() == mine);
  CHECK(count_files(folder.path()) == 4);
}

TEST_CASE("a FIFO is written to, not replaced") {
  const test::TemporaryFolder folder;
  const std::string fifo = folder / "fifo";
  REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
  const Descriptor reader(::open(fifo.c_str(), O_RDONLY | O_NONBLOCK));
  CHECK(check_replaceable(fifo));
  REQUIRE(replace_file(fifo, "content"));
  std::string got(100, ' ');
  CHECK(::read(reader.raw(), got.data(), got.size()) == 7);
  CHECK(got.starts_with("content "));
  CHECK(std::filesystem::is_fifo(fifo));
}

TEST_CASE("gzip is undone, member by member, and broken gzip is an error") {
  const test::TemporaryFolder folder;
  REQUIRE(replace_file(folder / "a.gz", "first "));
  REQUIRE(replace_file(folder / "b.gz", "second"));
  std::filesystem::rename(folder / "a.gz", folder / "a");
  std::filesystem::rename(folder / "b.gz", folder / "b");
  const std::string a = *read_file(folder / "a");
  const std::string b = *read_file(folder / "b");
  CHECK(a.starts_with("\x1f\x8b"));
  CHECK(*gunzip(a + b, "x") == "first second");
  CHECK(*gunzip("plain text", "x") == "plain text");
  for (std::size_t length = 2; length < a.size(); ++length) {
    CAPTURE(length);
    CHECK_FALSE(gunzip(a.substr(0, length), "x"));
  }
  std::string spoilt = a;
  spoilt[spoilt.size() - 6] = static_cast<char>(~spoilt[spoilt.size() - 6]);
  CHECK(gunzip(spoilt, "x.gz").error().message == "x.gz: broken gzip data: incorrect data check");
  CHECK(gunzip(a.substr(0, 12), "x.gz").error().message ==
        "x.gz: broken gzip data: it ends too early");
}

TEST_CASE("more than the limit is not read, whether packed or not") {
  const test::TemporaryFolder folder;
  for (const char* name : {"plain", "packed.gz"}) {
    CAPTURE(name);
    const std::string path = folder / name;
    REQUIRE(replace_file(path, std::string(5000, 'x')));
    CHECK(read_file(path, 5000)->size() == 5000);
    CHECK(read_file(path, 4096).error().message ==
          path + ": holds more than 4 KiB, the most that is read");
  }
  CHECK(read_file("/dev/zero").error().message ==
        "/dev/zero: holds more than 16.0 MiB, the most that is read");
  CHECK(read_file("/dev/null")->empty());
}

TEST_CASE("gzip that grows a hundredfold is refused") {
  const test::TemporaryFolder folder;
  REQUIRE(replace_file(folder / "bomb.gz", std::string(20'000'000, 'x')));
  CHECK(read_file(folder / "bomb.gz", kLargeFile).error().message ==
        (folder / "bomb.gz").string() + ": unpacks to more than 100 times its size");
}

TEST_CASE("a FIFO is read to its end, however late its writer comes") {
  const test::TemporaryFolder folder;
  const std::string fifo = folder / "fifo";
  REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
  std::thread writer([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    std::ofstream out(fifo);
    out << "first " << std::flush;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    out << "second";
  });
  CHECK(*read_file(fifo) == "first second");
  writer.join();
}

TEST_CASE("a FIFO that nobody named, or beside a journal, is refused at once") {
  const test::TemporaryFolder folder;
  const std::string fifo = folder / "fifo", link = folder / "link";
  REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
  const auto began = std::chrono::steady_clock::now();
  CHECK(read_found_file(fifo).error().message == fifo + ": is no regular file");
  REQUIRE(replace_file(folder / "file", "text"));
  std::filesystem::create_symlink("file", link);
  CHECK(*read_found_file(link) == "text");
  REQUIRE(replace_file(folder / "journal.jsonl.gz", ""));
  CHECK(read_file(fifo).error().message == fifo + ": is no regular file");
  CHECK(std::chrono::steady_clock::now() - began < std::chrono::seconds(20));
}

TEST_CASE("errors carry path and reason") {
  const test::TemporaryFolder folder;
  const std::string missing = (folder / "no/file").string();
  CHECK(read_file(missing).error().message == missing + ": cannot open: No such file or directory");
  CHECK(replace_file(missing, "").error().message ==
        missing + ": cannot write: No such file or directory");
  CHECK(AppendFile::open(missing).error().message ==
        missing + ": cannot open for appending: No such file or directory");
  CHECK(read_file(folder.path()).error().message ==
        folder.path().string() + ": cannot read: Is a directory");
  REQUIRE(replace_file(folder / "file", ""));
  CHECK(make_directories(folder / "file/sub").error().message ==
        (folder / "file/sub").string() + ": cannot create this folder: Not a directory");
  CHECK(make_directories(folder / "file/sub").error().kind == ErrorKind::kFile);
  CHECK(replace_file(folder.path(), "").error().message.find("cannot replace") !=
        std::string::npos);
}

TEST_CASE("make_directories is content with what is there") {
  const test::TemporaryFolder folder;
  CHECK(make_directories(folder / "a/b/c"));
  CHECK(make_directories(folder / "a/b/c"));
  CHECK(std::filesystem::is_directory(folder / "a/b/c"));
}

TEST_CASE("a file of fatune's own is written without following links below its folder") {
  namespace fs = std::filesystem;
  const test::TemporaryFolder folder;
  const fs::path mine = folder / "mine", run = folder / "run";
  REQUIRE(replace_file(mine, "mine"));
  REQUIRE(write_below(run, "parts/1/journal.jsonl", "new"));
  CHECK(*read_file(run / "parts/1/journal.jsonl") == "new");
  for (const fs::path& target : {mine, fs::path(folder / "missing")}) {
    fs::remove(run / "best.json");
    fs::create_symlink(target, run / "best.json");
    CHECK(write_below(run, "best.json", "new"));
    CHECK(fs::is_regular_file(fs::symlink_status(run / "best.json")));
  }
  fs::create_directory_symlink(folder.path(), run / "plots");
  CHECK(write_below(run, "plots/a.svg", "new").error().message.ends_with("; remove the link"));
  fs::create_symlink(mine, run / "log");
  CHECK_FALSE(AppendFile::open(run / "log"));
  CHECK_FALSE(read_own_file(run / "log"));
  // A user's own name is followed, but not into a folder of a run.
  CHECK(replace_file(run / "log", "mine"));
  CHECK(fs::is_symlink(run / "log"));
  REQUIRE(replace_file(run / "journal.jsonl", ""));
  CHECK(replace_file(run / "log", "new"));
  CHECK(*read_file(mine) == "mine");
  CHECK_FALSE(fs::exists(folder / "missing"));
}

TEST_CASE("what is private is the user's alone, whatever the umask") {
  const test::TemporaryFolder folder;
  for (const mode_t mask : {0U, 0777U}) {
    const auto cache = folder / std::to_string(mask) / "deep";
    REQUIRE(make_directories(cache.parent_path().parent_path()));
    const mode_t before = ::umask(mask);
    const Status written = write_below(cache, "ab/entry", "x", Access::kPrivate);
    ::umask(before);
    REQUIRE(written);
    struct stat found {};
    for (const char* name : {"..", ".", "ab"}) {
      REQUIRE(::stat((cache / name).c_str(), &found) == 0);
      CHECK((found.st_mode & 0777) == 0700);
    }
    REQUIRE(::stat((cache / "ab/entry").c_str(), &found) == 0);
    CHECK((found.st_mode & 0777) == 0600);
  }
}

TEST_CASE("lines are appended to what is there") {
  const test::TemporaryFolder folder;
  {
    auto file = AppendFile::open(folder / "log");
    REQUIRE(file);
    CHECK(file->append_line("one"));
    AppendFile moved = *std::move(file);
    CHECK(moved.append_line("two"));
  }
  auto again = AppendFile::open(folder / "log");
  REQUIRE(again);
  CHECK(again->append_line(""));
  CHECK(*read_file(folder / "log") == "one\ntwo\n\n");
}

TEST_CASE("a full disk names the path") {
  auto full = AppendFile::open("/dev/full");
  REQUIRE(full);
  CHECK(full->append_line("x").error().message ==
        "/dev/full: cannot append: No space left on device");
}

TEST_CASE("a line that did not fit is taken back") {
  const test::TemporaryFolder folder;
  const auto path = folder / "log";
  const pid_t pid = ::fork();
  if (pid == 0) {
    const rlimit limit{1000, 1000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    std::signal(SIGXFSZ, SIG_IGN);
    auto file = AppendFile::open(path);
    const bool first = static_cast<bool>(file->append_line("kept"));
    const bool second = static_cast<bool>(file->append_line(std::string(2000, 'x')));
    ::_exit(first && !second ? 0 : 1);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  CHECK(status == 0);
  CHECK(*read_file(path) == "kept\n");
}

TEST_CASE("the lock keeps a second holder out until the first is gone") {
  const test::TemporaryFolder folder;
  auto second = AppendFile::open(folder / "journal");
  REQUIRE(second);
  {
    auto first = AppendFile::open(folder / "journal");
    REQUIRE(first);
    CHECK(first->lock_exclusively());
    CHECK(second->lock_exclusively().error().message ==
          (folder / "journal").string() + ": in use by another process");
  }
  CHECK(second->lock_exclusively());
}

TEST_CASE("the program knows its own file") {
  CHECK(executable_path().filename() == "test_core");
  CHECK(std::filesystem::exists(executable_path()));
}
