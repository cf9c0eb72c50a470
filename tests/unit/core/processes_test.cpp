// processes_test.cpp: Tests folders in the form of /proc, and a process that ends during a read.
#include "core/processes.hpp"

#include <filesystem>
#include <fstream>
#include <string>

#include <catch2/catch_test_macros.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include "support/temporary_folder.hpp"

using namespace fatune;

namespace {

void tell(const std::filesystem::path& proc, int pid, const std::string& name, char state,
          int parent, int pages) {
  const std::filesystem::path folder = proc / std::to_string(pid);
  std::filesystem::create_directory(folder);
  std::ofstream(folder / "stat") << fmt::format(
      "{} ({}) {} {} 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 5 9999 {} 0\n", pid, name, state, parent,
      pages);
}

}  // namespace

TEST_CASE("Below a process are its children's children, not zombies and not others") {
  const test::TemporaryFolder folder;
  const std::filesystem::path& proc = folder.path();
  const std::int64_t page = ::sysconf(_SC_PAGESIZE);
  tell(proc, 10, "top", 'S', 1, 1);
  tell(proc, 11, "a (name) Z 1", 'R', 10, 2);
  tell(proc, 7, "its child", 'S', 11, 3);
  tell(proc, 12, "zombie", 'Z', 10, 4);
  tell(proc, 13, "below a zombie", 'S', 12, 5);
  tell(proc, 14, "another's", 'S', 1, 6);
  std::filesystem::create_directory(proc / "sys");
  CHECK(living_below(10, proc) ==
        std::map<pid_t, std::int64_t>{{7, 3 * page}, {11, 2 * page}, {13, 5 * page}});
}

TEST_CASE("A process that ends while it is read is none") {
  const test::TemporaryFolder folder;
  const std::filesystem::path& proc = folder.path();
  tell(proc, 11, "child", 'R', 10, 2);
  std::filesystem::create_directories(proc /
                                      "12/stat");  // opens; reading it fails, as /proc's then
  std::filesystem::create_directory(proc / "13");
  CHECK(living_below(10, proc).size() == 1);
  CHECK(living_below(10, proc / "nowhere").empty());
}
