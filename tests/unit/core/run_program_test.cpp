// run_program_test.cpp: Tests the output of programs that end, fail, or do not end.
#include "core/run_program.hpp"

#include <catch2/catch_test_macros.hpp>

#include "core/file.hpp"
#include "support/temporary_folder.hpp"

using namespace fatune;
using namespace std::chrono_literals;

namespace {

ProgramRun run_shell(const std::string& script, std::chrono::milliseconds patience = 10s) {
  auto run = run_program({.program = "/bin/sh", .arguments = {"-c", script}}, patience);
  REQUIRE(run);
  return *run;
}

}  // namespace

TEST_CASE("a program's stdout and stderr are captured to its end") {
  const ProgramRun run = run_shell("echo out; echo err >&2; cat; echo done");
  CHECK(run.succeeded());
  CHECK(run.text == "out\nerr\ndone\n");
  const ProgramRun failed = run_shell("echo why; exit 4");
  CHECK_FALSE(failed.succeeded());
  CHECK(describe(*failed.end) == "exit status 4");
  CHECK(failed.text == "why\n");
  CHECK(run_shell("exec >&- 2>&-; sleep 0.1; exit 5").end->code == 5);
}

TEST_CASE("a program that does not end is killed at the deadline, its words are kept") {
  const ProgramRun run = run_shell("echo begun; exec sleep 60", 2s);
  CHECK_FALSE(run.end);
  CHECK_FALSE(run.succeeded());
  CHECK(run.text == "begun\n");
}

TEST_CASE("output that a child keeps open does not keep the reader") {
  const ProgramRun run = run_shell("sleep 60 & echo mine");
  CHECK(run.succeeded());
  CHECK(run.text == "mine\n");
}

TEST_CASE("a long output is read to its end and kept in part") {
  const ProgramRun run = run_shell("head -c 70000000 /dev/zero | tr '\\0' x");
  CHECK(run.succeeded());
  CHECK(run.text.size() == 1 << 26);
}

TEST_CASE("a program that is not there is an environment error") {
  const auto run = run_program({.program = "/nowhere/program"}, 1s);
  REQUIRE_FALSE(run);
  CHECK(run.error().kind == ErrorKind::kEnvironment);
}

TEST_CASE("programs are found in folders, in their order") {
  const test::TemporaryFolder folder;
  REQUIRE(make_directories(folder / "a/tool"));  // a folder is no program
  REQUIRE(make_directories(folder / "b"));
  REQUIRE(replace_file(folder / "b/tool", "#!/bin/sh\n"));
  const std::vector<std::filesystem::path> folders = {folder / "a", folder / "b"};
  CHECK_FALSE(find_program("tool", folders));  // not executable
  std::filesystem::permissions(folder / "b/tool", std::filesystem::perms::owner_all);
  CHECK(find_program("tool", folders) == folder / "b/tool");
  CHECK(find_program((folder / "b/tool").string(), {}) == folder / "b/tool");
  CHECK_FALSE(find_program("other", folders));
}
