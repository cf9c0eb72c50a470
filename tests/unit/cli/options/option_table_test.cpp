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
  add_options(command, verb_table<kSweep>(args));
  command.parse(line);
  args.common.typed = typed_options(command);
  return args;
}

TEST_CASE("a recorded command has what differs from the defaults, and always the seed") {
  CHECK(repeat_options(verb_table<kSweep>, sweep_args("")) == " --seed 42");
  CHECK(
      repeat_options(verb_table<kSweep>,
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

TEST_CASE("each verb has its own options of the shared table") {
  SweepArgs args;
  const auto has = [&](Verb verb, const std::string& flag) {
    for (const OptionGroup& group : rows_of(verb, sweep_options(args))) {
      for (const OptionRow& row : group.rows)
        if (long_name(row) == flag) return true;
    }
    return false;
  };
  for (const Verb verb : {kSweep, kCompile, kResume, kFinals}) {
    CHECK(has(verb, "--json"));
    CHECK(has(verb, "--jobs"));
    CHECK(has(verb, "--shape") == (verb == kSweep || verb == kCompile));
    CHECK(has(verb, "--out") == (verb == kSweep));
    CHECK(has(verb, "--arch") == (verb == kCompile));
    CHECK(has(verb, "--device") == (verb != kCompile));
    CHECK(has(verb, "RUN") == (verb == kResume || verb == kFinals));
  }
}

TEST_CASE("the first typed option with a property is named") {
  const auto first = [](const std::string& line) {
    const SweepArgs args = sweep_args(line);
    return first_typed(verb_table<kSweep>, args, args.common.typed, &OptionRow::needs_search);
  };
  CHECK(first("--budget 0 --seed 7").empty());
  CHECK(first("--no-warm-start --strategy evo") == "--strategy");
}

}  // namespace
}  // namespace fatune::cli
