// scratch_folder_test.cpp: Tests that a scratch folder exists, is private, and is removed.
#include "core/scratch_folder.hpp"

#include <catch2/catch_test_macros.hpp>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

#include "core/file.hpp"
#include "support/temporary_folder.hpp"

using namespace fatune;

TEST_CASE("a scratch folder can be written and goes away with everything in it") {
  std::filesystem::path path;
  {
    const auto folder = ScratchFolder::make();
    REQUIRE(folder);
    path = folder->path();
    CHECK(std::filesystem::status(path).permissions() == std::filesystem::perms::owner_all);
    CHECK(replace_file(path / "job.json", "{}"));
  }
  CHECK_FALSE(std::filesystem::exists(path));
}

TEST_CASE("a scratch folder that was moved is removed once, by its last owner") {
  auto first = ScratchFolder::make();
  REQUIRE(first);
  const std::filesystem::path path = first->path();
  {
    const ScratchFolder second = *std::move(first);
    CHECK(second.path() == path);
    CHECK(first->path().empty());
    CHECK(std::filesystem::is_directory(path));
  }
  CHECK_FALSE(std::filesystem::exists(path));
}

TEST_CASE("what killed processes have left is removed by the next, what others use is not") {
  const test::TemporaryFolder base;
  REQUIRE(::setenv("TMPDIR", base.path().c_str(), 1) == 0);
  const auto used = ScratchFolder::make();
  REQUIRE(used);
  std::filesystem::create_directory(base / "fatune-scratch-abc123");
  std::filesystem::create_directory(base / "fatune-other");
  REQUIRE(replace_file(base / "fatune-scratch-abc123/part.cubin", "x"));
  const auto next = ScratchFolder::make();
  ::unsetenv("TMPDIR");
  REQUIRE(next);
  CHECK_FALSE(std::filesystem::exists(base / "fatune-scratch-abc123"));
  CHECK(std::filesystem::exists(base / "fatune-other"));
  CHECK(std::filesystem::exists(used->path()));
}

TEST_CASE("a file's killed writers leave nothing beside it for longer than to the next") {
  const test::TemporaryFolder folder;
  const auto path = folder / "best.json";
  for (const char* name :
       {"best.json.123-0.tmp", "best.json.mine.tmp", "best.json.1-0.tmp", "other.json.123-0.tmp"})
    REQUIRE(replace_file(folder / name, "x"));
  const int held = ::open((folder / "best.json.1-0.tmp").c_str(), O_RDONLY | O_CLOEXEC);
  REQUIRE(::flock(held, LOCK_EX) == 0);
  REQUIRE(replace_file(path, "{}"));
  ::close(held);
  CHECK(*read_file(path) == "{}");
  CHECK_FALSE(std::filesystem::exists(folder / "best.json.123-0.tmp"));
  for (const char* name : {"best.json.mine.tmp", "best.json.1-0.tmp", "other.json.123-0.tmp"})
    CHECK(std::filesystem::exists(folder / name));
}
