// shard_test.cpp: Checks --shard as typed and from schedulers' variables.
#include <map>

#include <catch2/catch_test_macros.hpp>

#include "cli/options/launchers.hpp"

namespace fatune::cli {
namespace {

using Variables = std::map<std::string, std::string>;

Result<ShardChoice> shard_of(const std::string& text, const Variables& variables = {}) {
  return parse_shard(text, [&](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? std::string() : found->second;
  });
}

void check_shard(const Result<ShardChoice>& shard, std::uint64_t number, std::uint64_t of) {
  if (!shard) FAIL(shard.error().message);
  CHECK(shard->number == number);
  CHECK(shard->of == of);
}

void check_no_shard(const Result<ShardChoice>& shard, const std::string& words) {
  REQUIRE_FALSE(shard);
  CHECK(shard.error().kind == ErrorKind::kUsage);
  CAPTURE(shard.error().message);
  CHECK(shard.error().message.find(words) != std::string::npos);
}

TEST_CASE("a shard is typed as one of so many, from 1") {
  check_shard(shard_of("1/1"), 1, 1);
  check_shard(shard_of("4/4"), 4, 4);
  for (const char* text :
       {"", "2", "0/4", "5/4", "-1/4", "1/0", "a/4", "1/4/2", "1/", "/4", "autos"})
    check_no_shard(shard_of(text), "is not I/N");
}

TEST_CASE("in a Slurm array each task is a shard, wherever the array begins and by what steps") {
  Variables task = {{"SLURM_ARRAY_TASK_ID", "0"},
                    {"SLURM_ARRAY_TASK_COUNT", "4"},
                    {"SLURM_ARRAY_TASK_MIN", "0"},
                    {"SLURM_PROCID", "0"},
                    {"SLURM_NTASKS", "1"}};
  check_shard(shard_of("auto", task), 1, 4);
  check_shard(shard_of("auto/4", task), 1, 4);
  task["SLURM_ARRAY_TASK_ID"] = "4";
  task["SLURM_ARRAY_TASK_MIN"] = "1";
  check_shard(shard_of("auto", task), 4, 4);
  task["SLURM_ARRAY_TASK_ID"] = "7";
  task["SLURM_ARRAY_TASK_STEP"] = "2";
  check_shard(shard_of("auto", task), 4, 4);
  check_no_shard(shard_of("auto/5", task), "is one of 4");
}

TEST_CASE("a piece of an array, a sparse one, and an array of several tasks do not say the shard") {
  check_no_shard(shard_of("auto", {{"SLURM_ARRAY_TASK_ID", "3"},
                                   {"SLURM_ARRAY_TASK_COUNT", "1"},
                                   {"SLURM_ARRAY_TASK_MIN", "3"}}),
                 "begins at 3");
  check_no_shard(shard_of("auto", {{"SLURM_ARRAY_TASK_ID", "9"},
                                   {"SLURM_ARRAY_TASK_COUNT", "3"},
                                   {"SLURM_ARRAY_TASK_MIN", "0"}}),
                 "is 9 of 3");
  check_no_shard(shard_of("auto", {{"SLURM_ARRAY_TASK_ID", "2"},
                                   {"SLURM_ARRAY_TASK_COUNT", "3"},
                                   {"SLURM_ARRAY_TASK_MIN", "1"},
                                   {"SLURM_ARRAY_TASK_STEP", "2"}}),
                 "from 1 by 2");
  check_no_shard(shard_of("auto", {{"SLURM_ARRAY_TASK_ID", "0"},
                                   {"SLURM_ARRAY_TASK_COUNT", "2"},
                                   {"SLURM_NTASKS", "4"}}),
                 "SLURM_NTASKS is 4");
  check_no_shard(shard_of("auto", {{"SLURM_ARRAY_TASK_ID", "two"}}), "SLURM_ARRAY_TASK_ID");
}

TEST_CASE("one task of an array that is given again alone is not the whole suite") {
  const Variables task = {{"SLURM_ARRAY_TASK_ID", "1"},
                          {"SLURM_ARRAY_TASK_COUNT", "1"},
                          {"SLURM_ARRAY_TASK_MIN", "1"},
                          {"SLURM_ARRAY_TASK_MAX", "1"}};
  check_no_shard(shard_of("auto", task), "SLURM_ARRAY_TASK_COUNT is 1");
  check_no_shard(shard_of("auto/4", task), "is one of 1");
  check_shard(shard_of("auto/1", task), 1, 1);
  check_shard(shard_of("auto", {{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "1"}}), 1, 1);
}

TEST_CASE("an array with gaps is refused in each of its tasks") {
  Variables task = {{"SLURM_ARRAY_TASK_ID", "1"},
                    {"SLURM_ARRAY_TASK_COUNT", "2"},
                    {"SLURM_ARRAY_TASK_MIN", "1"},
                    {"SLURM_ARRAY_TASK_MAX", "3"}};
  check_no_shard(shard_of("auto", task), "has 3 tasks, but SLURM_ARRAY_TASK_COUNT is 2");
  check_no_shard(shard_of("auto/2", task), "--array=0-1");
  task["SLURM_ARRAY_TASK_STEP"] = "2";
  check_shard(shard_of("auto", task), 1, 2);
  task["SLURM_ARRAY_TASK_ID"] = "3";
  check_shard(shard_of("auto", task), 2, 2);
}

TEST_CASE("in a Slurm step each process is a shard") {
  const Variables process = {{"SLURM_PROCID", "3"}, {"SLURM_NTASKS", "8"}};
  check_shard(shard_of("auto", process), 4, 8);
  check_no_shard(shard_of("auto/4", process), "is one of 8");
}

TEST_CASE("Kubernetes says which pod it is, not of how many") {
  const Variables pod = {{"JOB_COMPLETION_INDEX", "2"}};
  check_shard(shard_of("auto/3", pod), 3, 3);
  check_no_shard(shard_of("auto", pod), "--shard auto/N");
  check_no_shard(shard_of("auto/2", pod), "is 2 of 2");
}

TEST_CASE("without a scheduler there is nothing to take") {
  check_no_shard(shard_of("auto"), "none of SLURM_ARRAY_TASK_ID");
  check_no_shard(shard_of("auto/2"), "none of SLURM_ARRAY_TASK_ID");
}

}  // namespace
}  // namespace fatune::cli
