// args.cpp - the options that several commands share.
#include "cli/options/args.hpp"

#include <CLI/CLI.hpp>

#include "model/results/plan.hpp"

namespace fatune::cli {

OptionTable common_table(CommonArgs& a) {
  return {
      {"Kernels, compilers and libraries",
       {{.flags = "--kernel-dir",
         .value = &a.kernel_dirs,
         .type = "DIR",
         .help = "Folder with your own kernels, besides those built in (repeatable)",
         .repeat = Repeat::kChanged},
        {.flags = "--external-dir",
         .value = &a.external_dirs,
         .type = "DIR",
         .help = "Folder with your own descriptions of external programs (repeatable)",
         .repeat = Repeat::kChanged},
        {.flags = "--nvrtc",
         .value = &a.nvrtc,
         .type = "PATH",
         .help = "The NVRTC library to compile with: a file or its folder"},
        {.flags = "--cache",
         .value = &a.cache,
         .type = "DIR",
         .help = "Folder of the compilation cache [$XDG_CACHE_HOME/fatune]"},
        {.flags = "--python",
         .value = &a.python,
         .type = "PROGRAM",
         .help = "The Python with PyTorch, for torch:* [$FATUNE_PYTHON, python3]"}}},
      {"Output",
       {{.flags = "--json", .value = &a.json, .help = "Print one JSON document on stdout"},
        {.flags = "-q,--quiet", .value = &a.quiet, .help = "No progress, warnings and errors only"},
        {.flags = "-v,--verbose", .value = &a.verbose, .help = "Say more on stderr"}}}};
}

OptionTable problem_table(ProblemArgs& a) {
  return {{"Problem",
           {{.flags = "--shape",
             .value = &a.shapes,
             .type = "B,H,S,D",
             .help = "Batch, heads, sequence length, head dimension (repeatable)",
             .repeat = Repeat::kChanged,
             .resume = kSameAsRun<&RunPlan::problems>},
            {.flags = "--size",
             .value = &a.sizes,
             .type = "NAME=N,...",
             .help = "Problem of a kernel's own operation, instead of --shape (repeatable)",
             .repeat = Repeat::kChanged,
             .resume = kSameAsRun<&RunPlan::problems>},
            {.flags = "--suite",
             .value = &a.suite,
             .type = "SUITE",
             .help = "Named list of problems: mission, fa3, decode, or a file",
             .repeat = Repeat::kChanged,
             .resume = kSameAsRun<&RunPlan::problems>},
            {.flags = "--dtype",
             .value = &a.dtype,
             .type = "f16|bf16",
             .help = "Element type [f16]",
             .repeat = Repeat::kChanged},
            {.flags = "--kv-heads",
             .value = &a.kv_heads,
             .type = "N",
             .help = "Key/value heads; divides heads [heads]",
             .repeat = Repeat::kChanged},
            {.flags = "--seq-kv",
             .value = &a.seq_kv,
             .type = "N",
             .help = "Length of keys and values [seq]",
             .repeat = Repeat::kChanged},
            {.flags = "--causal",
             .value = &a.causal,
             .help = "Causal mask, aligned bottom-right",
             .repeat = Repeat::kChanged},
            {.flags = "--lse",
             .value = &a.lse,
             .help = "Also write the log-sum-exp of each row, fp32",
             .repeat = Repeat::kChanged}}}};
}

OptionTable choice_table(ChoiceArgs& a) {
  return tables({{{"Config",
                   {{.flags = "--config",
                     .value = &a.config,
                     .type = "FILE",
                     .help = "A best.json, or {\"kernel\":NAME,\"config\":{...}}",
                     .repeat = Repeat::kChanged},
                    {.flags = "--kernel",
                     .value = &a.kernel,
                     .type = "KERNEL",
                     .help = "A kernel, at its default config",
                     .repeat = Repeat::kChanged}}}},
                 problem_table(a.problem)});
}

OptionTable rounds_table(RoundsArgs& a) {
  return {{"Measuring",
           {{.flags = "--rounds",
             .value = &a.rounds,
             .type = "N",
             .help = "Interleaved rounds",
             .repeat = Repeat::kChanged},
            {.flags = "--seed",
             .value = &a.seed,
             .type = "N",
             .help = "Seed of the order and the intervals",
             .repeat = Repeat::kAlways}}}};
}

OptionTable device_table(std::string& device) {
  return {{"Device",
           {{.flags = "--device",
             .value = &device,
             .type = "DEVICE",
             .help = "auto, cuda:N, recorded or recorded:FILE"}}}};
}

void add_example(CLI::App& command, const std::string& example) {
  command.footer("Example:\n  " + example);
}

}  // namespace fatune::cli
