// scratch_folder_test.cpp - checks that a scratch folder is there, is private, and goes away.
#include <catch2/catch_test_macros.hpp>

#include "core/file.hpp"

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
