// cmd_judge.cpp: Serves a judge of kernels to a client on stdin and stdout.
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "cli/commands.hpp"
#include "cli/commands/export_run.hpp"
#include "cli/commands/tools.hpp"
#include "cli/options/catalog.hpp"
#include "cli/options/problems.hpp"
#include "cli/options/session.hpp"
#include "cli/options/start_configs.hpp"
#include "core/descriptor.hpp"
#include "core/log.hpp"
#include "core/text.hpp"
#include "judge/protocol/server.hpp"
#include "judge/services.hpp"

namespace fatune::cli {
namespace {

struct JudgeArgs {
  CommonArgs common;
  ProblemArgs problem;
  bool jsonl = false;
  std::string device = "auto";
  std::string arch = "sm_90a";
  std::string baselines = "cudnn,torch:flash";
  std::string out;
};

/// Device of --device; empty if kernels are only compiled, by choice or without a driver.
Result<std::optional<DeviceChoice>> device_of(const std::string& text) {
  std::optional<DeviceChoice> device;
  if (text == "none") return device;
  FATUNE_TRY(const DeviceChoice choice, choose_device(text));
  if (!choice.fell_back) device = choice;
  return device;
}

OpenEvaluator evaluator_opener(const DeviceChoice& device, const KernelRef& reference,
                               const Catalog& catalog, const Settings& settings) {
  return [=, &settings] {
    return open_evaluator({device, reference, {}, 0, {}, catalog}, settings);
  };
}

Result<std::unique_ptr<Examiner>> make_examiner(const JudgeArgs& args,
                                                const std::optional<DeviceChoice>& device,
                                                const Catalog& catalog, const Settings& settings) {
  FATUNE_TRY(const Arch arch, parse_arch(args.arch));
  if (device) {
    FATUNE_TRY(const KernelRef reference, reference_kernel(catalog));
    return make_device_examiner(evaluator_opener(*device, reference, catalog, settings), reference);
  }
  FATUNE_TRY(const DeviceLimits limits, typical_limits(arch));
  log::info(
      fmt::format("no GPU is used: kernels are compiled for {}, and no gate runs", name(arch)));
  return make_compile_examiner(compiler_opener(settings), limits);
}

/// Baselines of judged kernels. An unknown name is an error before anything is judged.
Result<MakeBaselines> baselines_of(const std::string& text, const Catalog& catalog,
                                   const Settings& settings) {
  FATUNE_TRY(const auto names, parse_implementations("--baselines", text));
  const OutsideOptions options = outside_options(settings);
  FATUNE_TRY_STATUS(check_implementations(names, catalog));
  return MakeBaselines([names, catalog, options](const Problem& problem) {
    return baseline_implementations(names, problem, catalog, options);
  });
}

Result<std::string> machine_code_of(const Candidate& candidate, const DeviceLimits& limits,
                                    const Settings& settings) {
  FATUNE_TRY(CompilePool pool, open_pool(settings));
  FATUNE_TRY(const Compiled compiled, pool.compile(compile_request(candidate, limits)));
  if (!compiled.ok) return usage_error("it does not compile: " + compiled.problem);
  return disassembly_of(compiled.cubin_path, settings);
}

Result<RefereeAids> aids_of(const JudgeArgs& args, const std::optional<DeviceChoice>& device,
                            const Catalog& catalog, const Settings& settings) {
  RefereeAids aids;
  FATUNE_TRY(aids.baselines, baselines_of(args.baselines, catalog, settings));
  FATUNE_TRY(aids.shipped, shipped_configs());
  aids.choose = [catalog](const std::vector<std::string>& names) {
    return choose_kernels(catalog, names);
  };
  aids.write_winner = [catalog, &settings](const std::filesystem::path& run, const AskExport& asked,
                                           const KernelRef& submitted) {
    Catalog known = catalog;
    if (submitted) {
      const std::string& own = submitted->manifest.name;
      std::erase_if(known, [&](const KernelRef& each) { return each->manifest.name == own; });
      known.push_back(submitted);
    }
    return export_run(run, asked, known, settings);
  };
  if (!device) return aids;
  aids.count = counter_of(*device, settings);
  aids.disassemble = [&settings](const Candidate& candidate, const DeviceLimits& limits) {
    return machine_code_of(candidate, limits, settings);
  };
  return aids;
}

Result<JudgementLog> open_log(const std::string& folder) {
  return folder.empty() ? JudgementLog() : JudgementLog::open(folder);
}

/// Problems of --shape or --suite, else of every built-in suite.
Result<std::vector<BookedProblem>> booked_problems(const ProblemArgs& args) {
  if (names_problem(args)) {
    FATUNE_TRY(const auto problems, resolve_problems(args));
    return book(std::filesystem::path(args.suite).stem(), problems);
  }
  FATUNE_TRY_STATUS(refuse_companions(args, "the suites that are judged without --shape"));
  std::vector<BookedProblem> all;
  for (const std::string& name : suite_names()) {
    FATUNE_TRY(const Suite suite, load_suite(name));
    for (BookedProblem& each : book(suite.name, suite.problems)) all.push_back(std::move(each));
  }
  return all;
}

Status write_line(const Descriptor& out, std::string_view line) {
  const int reason = write_all(out, std::string(line) + "\n");
  return reason == 0 ? Status() : system_failure("stdout", "write an answer", reason);
}

Result<int> judge(const JudgeArgs& args, const Settings& settings) {
  if (args.common.json) return usage_error("judge: --json prints one document; use --jsonl");
  FATUNE_TRY(std::vector<BookedProblem> booked, booked_problems(args.problem));
  FATUNE_TRY(const Catalog catalog, load_catalog(settings));
  FATUNE_TRY(const auto device, device_of(args.device));
  if (device) FATUNE_TRY_STATUS(check_device(*device));
  FATUNE_TRY(auto examiner, make_examiner(args, device, catalog, settings));
  FATUNE_TRY(RefereeAids aids, aids_of(args, device, catalog, settings));
  FATUNE_TRY(JudgementLog journal, open_log(args.out));
  log::info(fmt::format("judging {}, {} on stdin and stdout", counted(booked.size(), "problem"),
                        args.jsonl ? "JSON lines" : "MCP"));
  Referee referee(ProblemBook(std::move(booked)), std::move(examiner), std::move(journal),
                  std::move(aids));
  const Services services = judge_services(referee);
  const auto dialect = args.jsonl ? make_json_lines(services) : make_mcp(services);
  const Descriptor out(::dup(STDOUT_FILENO));
  Server server(*dialect, STDIN_FILENO,
                [&out](std::string_view line) { return write_line(out, line); });
  FATUNE_TRY_STATUS(server.run());
  return kDone;
}

OptionTable judge_table(JudgeArgs& a) {
  const OptionTable own = {
      {"Client",
       {{"--jsonl", &a.jsonl, "",
         "Speak plain JSON lines instead of MCP, the Model Context Protocol"},
        {"--out", &a.out, "DIR",
         "Keep judgements and kernels in this folder, and continue from its contents"}}},
      {"Device",
       {{"--device", &a.device, "auto|none|cuda:N|recorded:FILE",
         "Run gates and take times on this device. none: compile kernels only"},
        {"--arch", &a.arch, "sm_XX", "Compile for this architecture without a GPU"},
        {"--baselines", &a.baselines, "IMPL,...",
         "Compare kernels with these implementations: kernels, libraries, python:FILE:FUNCTION, "
         "or none"}}}};
  return tables({own, problem_table(a.problem), common_table(a.common)});
}

}  // namespace

Runner setup_judge(CLI::App& command) {
  return make_runner(command, judge_table,
                     "echo '{\"tool\": \"list_problems\"}' | fatune judge --jsonl", judge);
}

}  // namespace fatune::cli
