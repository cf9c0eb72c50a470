// ranks_test.cpp - what launchers say of how many processes they started.
#include "cli/options/ranks.hpp"

#include <map>
#include <string>

#include <catch2/catch_test_macros.hpp>

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

}  // namespace
}  // namespace fatune::cli
