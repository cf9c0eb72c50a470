// sweep_table.cpp - the options of `fatune sweep`.
#include "cli/options/sweep_plan.hpp"
#include "search/strategies/strategy.hpp"

namespace fatune::cli {
namespace {

std::string strategy_help() {
  std::string text = "How to search:";
  for (const StrategyInfo& info : strategies())
    text += "\n" + std::string(info.name) + ": " + std::string(info.summary);
  return text;
}

OptionTable search_table(SweepArgs& a) {
  return {{"Search",
           {{.flags = "--kernel",
             .value = &a.kernels,
             .type = "KERNEL,...",
             .help = "Kernels to tune, comma-separated [those tuned by default]",
             .repeat = Repeat::kChanged,
             .resume = kSameAsRun<&RunPlan::kernels>},
            {.flags = "--strategy",
             .value = &a.plan.strategy,
             .type = "STRATEGY",
             .help = strategy_help(),
             .repeat = Repeat::kChanged,
             .resume = kSameAsRun<&RunPlan::strategy>},
            {.flags = "--one-lever",
             .value = &a.plan.one_lever,
             .help = "Each move changes exactly one parameter (evo, ga)",
             .repeat = Repeat::kChanged,
             .resume = kSameAsRun<&RunPlan::one_lever>},
            {.flags = "--budget",
             .value = &a.budget,
             .type = "N",
             .help = "For each problem: candidates (150) or time (60s, 5m) [150; everything if "
                     "exhaustive]",
             .repeat = Repeat::kChanged,
             .resume = kSameAsRun<&RunPlan::budget_evaluations, &RunPlan::budget_seconds>},
            {.flags = "--baselines",
             .value = &a.baselines,
             .type = "IMPL,...",
             .help = "Implementations measured beside the winners; none for none",
             .repeat = Repeat::kChanged,
             .resume = kSameAsRun<&RunPlan::baselines>},
            {.flags = "--objective",
             .value = &a.plan.objective,
             .type = "hot|cold|score",
             .help = "hot or cold latency, or score: hot, then speed and use of the device",
             .repeat = Repeat::kChanged,
             .resume = kSameAsRun<&RunPlan::objective>}}}};
}

OptionTable suite_table(SweepArgs& a) {
  return {{"Configs of several problems",
           {{.flags = "--per-problem",
             .value = &a.per_problem,
             .help = "Each problem has its own config; so it is without the next two",
             .resume = kSameAsRun<&RunPlan::configs>},
            {.flags = "--one-config",
             .value = &a.one_config,
             .help = "One config for all problems: the greatest geomean speed-up over the default",
             .repeat = Repeat::kChanged,
             .resume = kSameAsRun<&RunPlan::configs>},
            {.flags = "--portfolio",
             .value = &a.portfolio,
             .type = "K",
             .help = "The K configs that together serve all problems best",
             .repeat = Repeat::kChanged,
             .resume = kSameAsRun<&RunPlan::configs>}}}};
}

OptionTable start_table(SweepArgs& a) {
  return {
      {"Configs to start from",
       {{.flags = "--warm",
         .value = &a.warm,
         .type = "PATH",
         .help = "The best configs of this best.json, journal or run's folder, too (repeatable)",
         .repeat = Repeat::kChanged,
         .resume = kOnlyNewRuns},
        {.flags = "--import",
         .value = &a.imports,
         .type = "FILE",
         .help = "The best configs of another tuner's results, where they map: a Kernel Tuner "
                 "cache, T4 or KTT results, a journal (repeatable)",
         .repeat = Repeat::kChanged,
         .resume = kOnlyNewRuns},
        {.flags = "--no-warm-start",
         .value = &a.no_warm_start,
         .help = "None that were best elsewhere: neither of earlier runs beside this one, nor "
                 "of those that ship with fatune",
         .repeat = Repeat::kChanged,
         .resume = kOnlyNewRuns}}}};
}

OptionTable run_table(SweepArgs& a) {
  return {{"Run",
           {{.flags = "--seed",
             .value = &a.seed,
             .type = "N",
             .help = "Seed of the search, the inputs and the final rounds",
             .repeat = Repeat::kAlways,
             .resume = kSameAsRun<&RunPlan::seed>},
            {.flags = "--out",
             .value = &a.out,
             .type = "DIR",
             .help = "Folder of the run [runs/DATE-TIME-PROBLEM]",
             .resume = kOnlyNewRuns},
            {.flags = "--resume",
             .value = &a.resume,
             .type = "DIR",
             .help = "Continue the run in this folder; repeats nothing"},
            {.flags = "--record-cold",
             .value = &a.plan.record_cold,
             .help = "Measure every candidate cold too, not only finalists",
             .repeat = Repeat::kChanged,
             .resume = kSameAsRun<&RunPlan::record_cold>},
            {.flags = "--skip-correctness",
             .value = &a.plan.skip_correctness,
             .help = "Do not check results; every output is marked with it",
             .repeat = Repeat::kChanged,
             .resume = kSameAsRun<&RunPlan::skip_correctness>},
            {.flags = "--sanitize",
             .value = &a.sanitize,
             .help = "Run the winner under compute-sanitizer; best.json has what it says"},
            {.flags = "--serve",
             .value = &a.serve,
             .type = "[PORT]",
             .help = "Show the search as a page while it runs, on 127.0.0.1 only: at this port "
                     "[8712]; 0: any that is free"},
            {.flags = "--jobs",
             .value = &a.jobs,
             .type = "N",
             .help = "Compile processes [cores, at most 16]"}}},
          {"Without a GPU",
           {{.flags = "--compile-only",
             .value = &a.compile_only,
             .help = "Compile, show resources, run nothing; needs no GPU"},
            {.flags = "--arch",
             .value = &a.arch,
             .type = "sm_XX",
             .help = "Architecture for --compile-only [sm_90a]"}}}};
}

}  // namespace

OptionTable sweep_table(SweepArgs& a) {
  return tables({problem_table(a.problem), search_table(a), suite_table(a), start_table(a),
                 run_table(a), device_table(a.device), common_table(a.common)});
}

}  // namespace fatune::cli
