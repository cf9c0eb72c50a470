// ranks_test.cpp: Checks the number of processes in launchers' variables, and the devices of ranks.
#include <map>
#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "cli/options/launchers.hpp"

namespace fatune::cli {
namespace {

using Variables = std::map<std::string, std::string>;

ReadVariable reader(const Variables& variables) {
  return [variables](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? std::string() : found->second;
  };
}

int ranks_of(const Variables& variables) { return launched_ranks(reader(variables)); }

TEST_CASE("mpirun of Open MPI and of MPICH, and srun with PMIx, say how many ranks there are") {
  CHECK(ranks_of({}) == 1);
  CHECK(ranks_of({{"OMPI_COMM_WORLD_SIZE", "4"}}) == 4);
  CHECK(ranks_of({{"PMI_SIZE", "8"}}) == 8);
  CHECK(ranks_of({{"PMIX_RANK", "0"}, {"SLURM_STEP_NUM_TASKS", "16"}}) == 16);
  CHECK(ranks_of({{"OMPI_COMM_WORLD_SIZE", "1"}}) == 1);
  CHECK(ranks_of({{"OMPI_COMM_WORLD_SIZE", "many"}}) == 1);
}

TEST_CASE("tasks of a Slurm step without PMIx know nothing of each other") {
  CHECK(ranks_of({{"SLURM_STEP_NUM_TASKS", "16"}, {"SLURM_PROCID", "3"}}) == 1);
}

TEST_CASE("FATUNE_SILENCE is a number of seconds") {
  CHECK(*rank_silence(reader({})) == 30);
  CHECK(*rank_silence(reader({{"FATUNE_SILENCE", "2.5"}})) == 2.5);
  for (const char* text : {"1", "soon", "-3", "1e9"}) {
    const auto silence = rank_silence(reader({{"FATUNE_SILENCE", text}}));
    REQUIRE_FALSE(silence);
    CHECK(silence.error().kind == ErrorKind::kUsage);
  }
}

using GpuNames = std::vector<std::string>;

/// Devices of a rank that sees this number of GPUs.
Result<GpuNames> gpus_of_rank(std::size_t seen, const LocalRank& local,
                              const Variables& variables = {}) {
  return devices_of_rank("auto", local, reader(variables),
                         [seen] { return std::vector<ListedDevice>(seen); });
}

TEST_CASE("each rank of a host has a GPU, as long as there are some") {
  CHECK(*gpus_of_rank(4, {2, 4}) == GpuNames{"cuda:2"});
  const auto fifth = gpus_of_rank(4, {4, 5});
  REQUIRE_FALSE(fifth);
  CHECK(fifth.error().message ==
        "4 GPUs of the host belong to its first ranks; start one rank a GPU");
}

TEST_CASE("a rank to which the launcher has bound GPUs has those") {
  CHECK(*gpus_of_rank(1, {3, 4}) == GpuNames{"cuda:0"});
  const Variables two{{"SLURM_GPUS_PER_TASK", "2"}};
  CHECK(*gpus_of_rank(2, {1, 2}, two) == GpuNames{"cuda:0", "cuda:1"});
  CHECK(*gpus_of_rank(4, {1, 2}, two) == GpuNames{"cuda:1"});  // the ranks are not bound
}

}  // namespace
}  // namespace fatune::cli
