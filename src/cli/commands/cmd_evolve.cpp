// cmd_evolve.cpp: Runs trials of proposed kernels from a start kernel, and prints the best.
#include <algorithm>
#include <filesystem>
#include <memory>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "cli/commands/tools.hpp"
#include "cli/options/catalog.hpp"
#include "cli/options/problems.hpp"
#include "cli/options/session.hpp"
#include "core/fields.hpp"
#include "core/file.hpp"
#include "core/log.hpp"
#include "core/text.hpp"
#include "evolve/report.hpp"
#include "evolve/run/evolution.hpp"

namespace fatune::cli {
namespace {

constexpr const char* kReplay = "replay:";

struct EvolveArgs {
  CommonArgs common;
  ProblemArgs problem;
  std::string proposer;
  std::string mode = "full";
  std::string kernel;
  std::string trials = "45";
  std::string wanted = "1";
  std::string evaluations = "12";
  std::string rounds = "20";
  std::string seed = "42";
  std::string answer_seconds = "300";
  std::string memory = "8";
  std::string out;
  std::string resume;
  std::string device = "auto";
  std::string arch = "sm_90a";
  bool profile = false;
};

/// Options that the header of a resumed run holds, besides its problems.
constexpr const char* kNewRunOptions[] = {
    "--mode", "--kernel",           "--trials",      "--wanted", "--rounds",
    "--seed", "--proposer-seconds", "--evaluations", "--out"};

Status refuse_with_resume(const EvolveArgs& args) {
  std::vector<std::string> flags(std::begin(kNewRunOptions), std::end(kNewRunOptions));
  ProblemArgs usual;
  for (const OptionGroup& group : problem_table(usual)) {
    for (const OptionRow& row : group.rows) flags.push_back(long_name(row));
  }
  for (const std::string& flag : flags) {
    if (args.common.typed.count(flag) > 0)
      return usage_error(fmt::format("--resume: the run has its own {0}; leave out {0}", flag));
  }
  return {};
}

Result<EvolutionPlan> plan_of(const EvolveArgs& args) {
  EvolutionPlan plan;
  const auto mode = parse_proposer_mode(args.mode);
  if (!mode) return usage_error("--mode: " + mode.error().message);
  plan.mode = *mode;
  FATUNE_TRY(plan.trials, whole_number("--trials", args.trials, 1, 10'000));
  FATUNE_TRY(plan.wanted, whole_number("--wanted", args.wanted, 1, 64));
  FATUNE_TRY(plan.evaluations, whole_number("--evaluations", args.evaluations, 1, 10'000));
  FATUNE_TRY(plan.rounds, whole_number("--rounds", args.rounds, 0, 10'000));
  FATUNE_TRY(plan.answer_seconds,
             whole_number("--proposer-seconds", args.answer_seconds, 1, 86'400));
  FATUNE_TRY(const std::int64_t seed, whole_number("--seed", args.seed, 0));
  plan.seed = static_cast<std::uint64_t>(seed);
  if (args.kernel.empty())
    return usage_error("--kernel is missing; name the kernel that the run starts from");
  plan.kernel = args.kernel;
  FATUNE_TRY(plan.problems, resolve_problems(args.problem));
  return plan;
}

/// Text of the manifest, from the kernel's folder or from the program.
Result<std::string> manifest_text(const Kernel& kernel, const Settings& settings) {
  const std::string& path = kernel.manifest.where;
  for (auto folder = settings.kernel_dirs.rbegin(); folder != settings.kernel_dirs.rend();
       ++folder) {
    FATUNE_TRY(const SourceTree tree, load_source_tree(*folder));
    const auto found = std::ranges::find(tree, path, &SourceFile::path);
    if (found != tree.end()) return found->text;
  }
  FATUNE_TRY(SourceFile file, embedded_source(path));
  return std::move(file.text);
}

/// Kernel in the form of a proposal: one file, which its manifest names without a folder.
Result<Draft> start_draft(const std::string& name, const Settings& settings) {
  FATUNE_TRY(const auto catalog, load_catalog(settings));
  FATUNE_TRY(const KernelRef kernel, find_kernel(catalog, name));
  FATUNE_TRY(const std::string text, manifest_text(*kernel, settings));
  FATUNE_TRY(Json manifest, parse_json(text, kernel->manifest.where));
  manifest["source"] = file_name(std::filesystem::path(kernel->source.path).filename().string());
  auto draft = read_draft(kernel->source.text, dump(manifest), "");
  if (!draft) return with_context(std::move(draft).error(), "--kernel " + name);
  return draft;
}

OpenEvaluator evaluators(const DeviceChoice& device, const std::filesystem::path& folder,
                         const Settings& settings) {
  return [=, &settings]() -> Result<std::unique_ptr<Evaluator>> {
    FATUNE_TRY(const auto catalog, load_catalog(settings));
    FATUNE_TRY(const KernelRef reference, reference_kernel(catalog));
    return open_evaluator({device, reference, folder, 0, {}, catalog}, settings);
  };
}

Result<std::unique_ptr<Bench>> bench_without_gpu(const EvolveArgs& args, const Settings& settings) {
  FATUNE_TRY(const Arch arch, parse_arch(args.arch));
  FATUNE_TRY(const DeviceLimits limits, typical_limits(arch));
  log::info(fmt::format(
      "no GPU is used: candidates are compiled for {}; no gate runs and nothing is timed",
      name(arch)));
  return make_compile_bench(compiler_opener(settings), limits);
}

bool is_recorded(const EvolveArgs& args) { return args.device.starts_with("recorded"); }

Result<std::unique_ptr<Bench>> open_bench(const EvolveArgs& args,
                                          const std::filesystem::path& folder,
                                          const Settings& settings) {
  if (args.device == "none") return bench_without_gpu(args, settings);
  FATUNE_TRY(const DeviceChoice device, choose_device(args.device));
  if (device.fell_back) return bench_without_gpu(args, settings);
  if (device.kind == DeviceChoice::Kind::kGpu)
    return make_device_bench(evaluators(device, folder, settings),
                             args.profile ? counter_of(device, settings) : nullptr);
  if (device.recording.empty())
    return usage_error(
        "--device recorded holds no proposals; name a run of evolve with --device recorded:RUN");
  FATUNE_TRY(Ledger ledger, load_ledger(device.recording));
  return make_recorded_bench(std::move(ledger));
}

Result<std::unique_ptr<Proposer>> open_proposer(const EvolveArgs& args, const EvolutionPlan& plan,
                                                const std::filesystem::path& folder) {
  if (args.proposer.starts_with(kReplay))
    return make_replay_proposer(args.proposer.substr(std::string(kReplay).size()));
  ProposerLimits limits;
  limits.answer = std::chrono::seconds(plan.answer_seconds);
  FATUNE_TRY(const std::int64_t gibibytes,
             whole_number("--proposer-memory", args.memory, 1, 1 << 20));
  limits.memory_bytes = gibibytes << 30U;
  return make_command_proposer(args.proposer, limits, folder / "proposer.log");
}

std::filesystem::path folder_of(const EvolveArgs& args) {
  if (!args.resume.empty()) return args.resume;
  if (!args.out.empty()) return args.out;
  return "runs/" + local_time("%Y%m%d-%H%M%S-evolve-") + file_name(args.kernel);
}

/// Plan and start kernel, of the command or of the resumed run.
struct ReadyEvolution {
  EvolutionPlan plan;
  Draft start;
};
Result<ReadyEvolution> make_evolution(const EvolveArgs& args, const Settings& settings) {
  if (args.resume.empty()) {
    FATUNE_TRY(EvolutionPlan plan, plan_of(args));
    FATUNE_TRY(Draft start, start_draft(args.kernel, settings));
    return ReadyEvolution{std::move(plan), std::move(start)};
  }
  FATUNE_TRY_STATUS(refuse_with_resume(args));
  FATUNE_TRY(Ledger ledger, load_ledger(args.resume));
  if (ledger.trials.empty()) {
    auto start = start_draft(ledger.header.plan.kernel, settings);
    if (!start) {
      return with_context(std::move(start).error(),
                          "--resume: the run has no trial yet; name its --kernel-dir again");
    }
    return ReadyEvolution{std::move(ledger.header.plan), *std::move(start)};
  }
  const Trial& first = ledger.trials.front();
  FATUNE_TRY(Draft start, read_draft(first.source, first.manifest, first.config));
  return ReadyEvolution{std::move(ledger.header.plan), std::move(start)};
}

Result<int> evolve(const EvolveArgs& args, const Settings& settings) {
  FATUNE_TRY(const ReadyEvolution ready, make_evolution(args, settings));
  const std::filesystem::path folder = folder_of(args);
  if (args.resume.empty() && holds_run(folder))
    return usage_error(
        fmt::format("--out: {0} holds a run; continue it with --resume {0}", folder.string()));
  FATUNE_TRY_STATUS(make_directories(folder));
  FATUNE_TRY(const auto proposer, open_proposer(args, ready.plan, folder));
  FATUNE_TRY(const auto bench, open_bench(args, folder, settings));
  EvolutionOptions options;
  options.plan = ready.plan;
  options.out = folder;
  options.resume = !args.resume.empty();
  options.recorded = is_recorded(args);
  options.on_trial = [](const Trial& trial) { log::info(trial_line(trial)); };
  FATUNE_TRY(Ledger ledger, run_evolution(options, ready.start, *proposer, *bench));
  const EvolutionDocument document = evolution_document(std::move(ledger), settings.head);
  print(settings.json ? dump_pretty(to_json(document)) : evolution_text(document, settings.paint));
  log::info(fmt::format("the run is in {}; `fatune report {} -o page.html` draws it",
                        folder.string(), shell_word(folder.string())));
  return kDone;
}

OptionTable evolve_table(EvolveArgs& a) {
  const OptionTable own = {
      {"Proposer",
       {required({"--proposer", &a.proposer, "CMD|replay:RUN",
                  "Ask this shell command, which reads a JSON line on stdin and answers with one "
                  "on stdout. replay:RUN repeats the answers of a former run"}),
        {"--mode", &a.mode, "free|insight|full",
         "Choose what the proposer sees. free: task and best kernel. insight: also insights. full: "
         "also elites, parents and history"},
        {"--wanted", &a.wanted, "N", "Ask for this many candidates in a request"},
        {"--proposer-seconds", &a.answer_seconds, "N", "Wait this many seconds for an answer"},
        {"--proposer-memory", &a.memory, "GIB",
         "Limit the memory of the proposer and its child processes"}}},
      {"Run",
       {{"--kernel", &a.kernel, "KERNEL", "Start the run from this kernel"},
        {"--trials", &a.trials, "N", "Try this many candidates"},
        {"--evaluations", &a.evaluations, "N",
         "Try this many configs of a candidate's template on each problem"},
        {"--rounds", &a.rounds, "N",
         "Measure the best against the start in this many rounds at the end. 0: none"},
        {"--seed", &a.seed, "N", "Seed the choice of parents and insights, and the searches"},
        {"--out", &a.out, "DIR", "Write the run to this folder [runs/DATE-evolve-KERNEL]"},
        {"--resume", &a.resume, "DIR", "Continue the run in this folder"}}},
      {"Device",
       {{"--device", &a.device, "auto|none|cuda:N|recorded:RUN",
         "Run candidates on this device. none: compile only. recorded: take the measurements of a "
         "former run"},
        {"--profile", &a.profile, "",
         "Read the hardware counters of each new best with ncu, and pass them to the proposer"},
        {"--arch", &a.arch, "sm_XX", "Compile for this architecture without a GPU"}}}};
  return tables({own, problem_table(a.problem), common_table(a.common)});
}

}  // namespace

Runner setup_evolve(CLI::App& command) {
  return make_runner(command, evolve_table,
                     "fatune evolve --proposer examples/evolve/rules.py --kernel-dir "
                     "examples/evolve/start --kernel poor_rows --shape 4,8,512,64",
                     evolve);
}

}  // namespace fatune::cli
