// program_folders_test.cpp: Checks which folders around the program may provide libraries.
#include <catch2/catch_test_macros.hpp>

#include "cli/options/settings.hpp"
#include "core/file.hpp"
#include "support/captured_stderr.hpp"
#include "support/temporary_folder.hpp"

using namespace fatune;
namespace fs = std::filesystem;

namespace {

using Folders = std::vector<fs::path>;

fs::path file(const fs::path& path) {
  REQUIRE(make_directories(path.parent_path()));
  REQUIRE(replace_file(path, ""));
  return path;
}

/// SITE after pip: fatune's package, and NVRTC's wheel beside it.
fs::path program_of_a_wheel(const fs::path& site) {
  file(site / "fatune/__init__.py");
  file(site / "nvidia/cu13/lib/libnvrtc.so.13");
  return file(site / "fatune/bin/fatune");
}

}  // namespace

TEST_CASE("a program in a Python package finds the wheels beside the package") {
  const test::TemporaryFolder site;
  CHECK(cli::installed_folders(program_of_a_wheel(site.path())) == Folders{site.path()});
}

TEST_CASE("a program in another folder of that name does not") {
  const test::TemporaryFolder site;
  const fs::path program = program_of_a_wheel(site.path());
  fs::remove(site / "fatune/__init__.py");
  CHECK(cli::installed_folders(program).empty());
  CHECK(cli::installed_folders(program_of_a_wheel(site.path()).parent_path()).empty());
  CHECK(cli::installed_folders(file(site / "fatune/fatune")).empty());
}

TEST_CASE("an unpacked archive has CUDA in its own share/fatune") {
  const test::TemporaryFolder prefix;
  const fs::path program = file(prefix / "bin/fatune");
  CHECK(cli::installed_folders(program).empty());
  file(prefix / "share/fatune/cuda/nvidia/cu13/lib/libnvrtc.so.13");
  CHECK(cli::installed_folders(program) == Folders{prefix / "share/fatune"});
}

TEST_CASE("folders that anybody may write are left out, with a warning") {
  const test::TemporaryFolder site;
  const fs::path program = program_of_a_wheel(site.path());
  for (const fs::path& folder : {site.path(), site / "nvidia"}) {
    const auto before = fs::status(folder).permissions();
    fs::permissions(folder, fs::perms::others_write, fs::perm_options::add);
    Folders found;
    const std::string said =
        test::captured_stderr([&] { found = cli::installed_folders(program); });
    CHECK(found.empty());
    CHECK(said.find((site / "nvidia").string()) != std::string::npos);
    fs::permissions(folder, before);
  }
  CHECK_FALSE(cli::installed_folders(program).empty());
}

TEST_CASE("a checkout's .deps is found up to three folders above the program") {
  const test::TemporaryFolder root;
  const fs::path program = file(root / "build/dev/fatune");
  REQUIRE(make_directories(root / ".deps"));
  CHECK(cli::checkout_folders(program).empty());
  file(root / "CMakeLists.txt");
  CHECK(cli::checkout_folders(program) == Folders{root / ".deps"});
  CHECK(cli::checkout_folders(file(root / "a/b/c/d/fatune")).empty());
}
