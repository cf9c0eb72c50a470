// sanitizer_test.cpp: Checks the problems and verdicts of compute-sanitizer, with a script as the
// tool.
#include "tune/profile/sanitizer.hpp"

#include <filesystem>
#include <fstream>

#include <catch2/catch_test_macros.hpp>

#include "support/sample_kernel.hpp"
#include "support/temporary_folder.hpp"

using namespace fatune;

namespace {

const std::string kBanner = "========= COMPUTE-SANITIZER\n";

std::filesystem::path script(const std::filesystem::path& folder, const std::string& body) {
  const auto path = folder / "compute-sanitizer";
  std::ofstream(path) << "#!/bin/sh\n" << body;
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  return path;
}

/// Returns the sample kernel with this number of CTA rows.
std::vector<Attention> looked_at(const std::string& rows) {
  const KernelRef kernel = sample_kernel(sample_with("\"BATCH * HEADS\"", "\"" + rows + "\""));
  const auto chosen = sanitizer_candidates({kernel, default_config(kernel->manifest), kMission},
                                           limits_of("sm_90a"));
  REQUIRE(chosen);
  std::vector<Attention> problems;
  for (const Candidate& each : *chosen) problems.push_back(each.problem.as_attention());
  return problems;
}

}  // namespace

TEST_CASE("CTAs that take work tiles one after the other are looked at while they do") {
  const auto one = looked_at("BATCH * HEADS");
  REQUIRE(one.size() == 1);
  CHECK(one.front().batch * one.front().heads * one.front().seq_q < 1000);
  const auto in_turn = looked_at("min(BATCH * HEADS, 132)");
  REQUIRE(in_turn.size() == 2);
  CHECK(in_turn.front() == one.front());
  CHECK(in_turn.back().batch * in_turn.back().heads > 132);
}

TEST_CASE("of several runs the worst verdict counts, tool by tool") {
  const ToolVerdict passed{"memcheck", "passed", ""}, none{"racecheck", "not_run", "too long"},
      clean{"racecheck", "passed", ""}, failed{"memcheck", "failed", "3 found: a read"};
  CHECK(worst_of({{passed, clean}}) == std::vector{passed, clean});
  CHECK(worst_of({{passed, none}, {failed, clean}}) == std::vector{failed, none});
  CHECK(worst_of({{failed, clean}, {passed, none}}) == std::vector{failed, none});
}

TEST_CASE("a summary without errors passes") {
  const auto memcheck =
      read_sanitizer("memcheck", true, kBanner + "========= ERROR SUMMARY: 0 errors\n");
  CHECK(memcheck == ToolVerdict{"memcheck", "passed", ""});
  const auto racecheck = read_sanitizer(
      "racecheck", true,
      kBanner + "========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)\n");
  CHECK(racecheck.result == "passed");
}

TEST_CASE("errors fail, with the first finding") {
  const auto verdict = read_sanitizer("memcheck", false,
                                      kBanner +
                                          "========= Invalid __global__ read of size 4 bytes\n"
                                          "=========     at fault_main\n"
                                          "========= ERROR SUMMARY: 3 errors\n");
  CHECK(verdict.result == "failed");
  CHECK(verdict.reason == "3 found: Invalid __global__ read of size 4 bytes");
}

TEST_CASE("what is not told is not passed") {
  CHECK(read_sanitizer("memcheck", true, "").result == "not_run");
  const auto refused = read_sanitizer(
      "memcheck", false,
      kBanner +
          "========= Error: Target application terminated before first instrumented API call\n");
  CHECK(refused.result == "not_run");
  CHECK(refused.reason ==
        "Error: Target application terminated before first instrumented API call");
  // No error was reported, but the failed program proves nothing.
  const auto broken = read_sanitizer(
      "memcheck", false, "fatune: error: no device\n========= ERROR SUMMARY: 0 errors\n");
  CHECK(broken.result == "not_run");
  CHECK(broken.reason == "fatune: error: no device");
}

TEST_CASE("every tool is run, with the program and its words") {
  const test::TemporaryFolder folder;
  SanitizerRequest request;
  request.sanitizer =
      script(folder.path(),
             "[ \"$1 $5 $6 $7\" = \"--tool /bin/it profile-worker job.json\" ] || exit 1\n"
             "[ $2 = racecheck ] && echo '========= RACECHECK SUMMARY: 2 hazards "
             "displayed (2 errors, 0 warnings)' && exit 0\n"
             "echo '========= ERROR SUMMARY: 0 errors'\n");
  request.program = "/bin/it";
  request.arguments = {"profile-worker", "job.json"};
  const auto verdicts = run_sanitizer(request);
  REQUIRE(verdicts);
  REQUIRE(verdicts->size() == 3);
  CHECK((*verdicts)[0] == ToolVerdict{"memcheck", "passed", ""});
  CHECK((*verdicts)[1].result == "failed");
  CHECK((*verdicts)[2] == ToolVerdict{"synccheck", "passed", ""});
}

TEST_CASE("a tool that cannot be started is not run, with the reason") {
  SanitizerRequest request;
  request.sanitizer = "/nowhere/compute-sanitizer";
  request.program = "/bin/true";
  const auto verdicts = run_sanitizer(request);
  REQUIRE(verdicts);
  for (const ToolVerdict& verdict : *verdicts) {
    CHECK(verdict.result == "not_run");
    CHECK_FALSE(verdict.reason.empty());
  }
}
