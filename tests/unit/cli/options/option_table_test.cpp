// option_table_test.cpp: Checks parsing and repetition of a declared option.
#include "cli/options/option_table.hpp"

#include <CLI/CLI.hpp>
#include <catch2/catch_test_macros.hpp>

#include "cli/options/sweep_plan.hpp"

namespace fatune::cli {
namespace {

SweepArgs sweep_args(const std::string& line) {
  SweepArgs args;
  CLI::App command("sweep");
  add_options(command, sweep_table(args));
  command.parse(line);
  args.common.typed = typed_options(command);
  return args;
}

TEST_CASE("a recorded command has what differs from the defaults, and always the seed") {
  CHECK(repeat_options(sweep_table, sweep_args("")) == " --seed 42");
  CHECK(
      repeat_options(sweep_table,
                     sweep_args("--shape 4,8,512,64 --shape 1,8,64,64 --causal --strategy evo "
                                "--budget 20 --record-cold --jobs 4 --kernel-dir 'my kernels'")) ==
      " --shape 4,8,512,64 --shape 1,8,64,64 --causal --budget 20 --seed 42 --record-cold"
      " --kernel-dir 'my kernels'");
}

TEST_CASE("an option that is typed with its default value is typed") {
  CHECK(sweep_args("").common.typed.empty());
  CHECK(sweep_args("--seed 42 -q").common.typed == std::set<std::string>{"--quiet", "--seed"});
}

TEST_CASE("a list's option takes one value: the next word is not its own") {
  CHECK_THROWS(sweep_args("--kernel-dir own gemm"));
  CHECK(sweep_args("--kernel-dir own --kernel-dir gemm").common.kernel_dirs ==
        std::vector<std::string>{"own", "gemm"});
}

TEST_CASE("what is typed beside --resume takes its place in the recorded plan") {
  RunPlan recorded, typed;
  recorded.seed = 7;
  recorded.strategy = "ga";
  recorded.record_cold = true;
  typed.seed = 42;
  CHECK(resumed_plan(sweep_args("--resume run"), recorded, typed).seed == 7);
  const RunPlan plan = resumed_plan(sweep_args("--resume run --seed 42"), recorded, typed);
  CHECK(plan.seed == 42);
  CHECK(plan.strategy == "ga");
  CHECK(plan.record_cold);
  CHECK(resumed_plan(sweep_args("--resume run --strategy evo"), recorded, typed).strategy == "evo");
}

TEST_CASE("options of new runs are refused beside --resume") {
  CHECK(refuse_new_run_options(sweep_args("--resume run --jobs 2")));
  const auto refused = refuse_new_run_options(sweep_args("--resume run --no-warm-start"));
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message ==
        "--resume continues the run as it began; leave out --no-warm-start, which is for new runs");
}

}  // namespace
}  // namespace fatune::cli
