// tools.cpp: Runs NVIDIA's tools on this program with a compiled candidate.
#include "cli/commands/tools.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/file.hpp"
#include "core/log.hpp"
#include "core/run_program.hpp"
#include "core/scratch_folder.hpp"
#include "core/text.hpp"
#include "tune/evaluate/preparation.hpp"
#include "tune/profile/profile.hpp"
#include "tune/profile/sanitizer.hpp"
#include "worker/protocol/compilation.hpp"

namespace fatune::cli {
namespace {

constexpr std::chrono::minutes kLongestLaunch{10};  ///< of a launch with its copies; chosen

/// Job file of a worker; its folder lives until the tool has ended.
struct JobFile {
  ScratchFolder folder;
  std::filesystem::path program;       ///< this program
  std::vector<std::string> arguments;  ///< arguments that make the program a worker of the job
};

/// Writes a job. The caller sets device and warm-ups; the candidate gives program and problem.
Result<JobFile> write_job(ProfileJob job, const Candidate& candidate, const Compiled& compiled,
                          const DeviceLimits& limits) {
  job.problem = candidate.problem;
  if (candidate.problem.custom()) {
    FATUNE_TRY(job.custom, candidate.kernel->manifest.operation->plan(candidate.problem));
  }
  job.program.cubin = compiled.cubin_path.string();
  FATUNE_TRY(job.program.plan, launch_plan(candidate, limits));
  FATUNE_TRY(ScratchFolder folder, ScratchFolder::make());
  const std::filesystem::path file = folder.path() / "job.json";
  FATUNE_TRY_STATUS(replace_file(file, dump_pretty(to_json(job))));
  return JobFile{std::move(folder), executable_path(), {"profile-worker", file.string()}};
}

Result<std::vector<ToolVerdict>> watch(const std::filesystem::path& sanitizer,
                                       const Candidate& candidate, const DeviceLimits& limits,
                                       int device, const Settings& settings) {
  FATUNE_TRY(CompilePool pool, open_pool(settings));
  FATUNE_TRY(const Compiled compiled, pool.compile(compile_request(candidate, limits)));
  if (!compiled.ok) return sanitizer_not_run("it does not compile: " + compiled.problem);
  ProfileJob wanted;
  wanted.device = device;
  wanted.warm_ups = 1;
  FATUNE_TRY(const JobFile job, write_job(wanted, candidate, compiled, limits));
  log::info("checking " + candidate.kernel->manifest.name + " at " + describe(candidate.problem) +
            " with " + sanitizer.string());
  return run_sanitizer(
      {.sanitizer = sanitizer, .program = job.program, .arguments = job.arguments});
}

class UseCounter {
 public:
  UseCounter(int device, const DeviceLimits& limits, const Settings& settings)
      : device_(device), limits_(limits), settings_(settings) {}

  Result<DeviceUse> count(const Candidate& candidate) {
    if (!pool_) {
      FATUNE_TRY(pool_, open_pool(settings_));
    }
    DeviceUse use;
    FATUNE_TRY_STATUS(add_counters(candidate, use));
    FATUNE_TRY(const Compiled compiled, pool_->compile(compile_request(candidate, limits_)));
    const CubinCensus census = census_of(compiled.cubin_path, settings_);
    if (census.entries.empty()) {
      use.missing += (use.missing.empty() ? "" : "; ") + census.reason;
      return use;
    }
    use.syncs = 0;
    for (const Census& entry : census.entries)
      *use.syncs += static_cast<double>(entry.count("barrier"));
    return use;
  }

 private:
  Status add_counters(const Candidate& candidate, DeviceUse& use) {
    if (no_counters_.empty()) {
      FATUNE_TRY(const NcuOutcome outcome,
                 take_profile(candidate, {limits_, device_}, *pool_, settings_));
      if (const Counters* launch = longest(outcome.launches)) {
        use.tensor_pct = launch->tensor_pct;
        use.sm_busy_pct = launch->sm_busy_pct;
        return {};
      }
      no_counters_ = outcome.reason;
    }
    use.missing = no_counters_;
    return {};
  }

  int device_;
  DeviceLimits limits_;
  Settings settings_;
  std::optional<CompilePool> pool_;
  std::string no_counters_;  ///< reason if ncu gave no counters
};

}  // namespace

std::vector<OptionalTool> optional_tools() {
  return {{"compute-sanitizer", "checks winners for races and bad accesses (sweep --sanitize)"},
          {"ncu", "reads hardware counters (profile)"},
          {"cuobjdump", "shows machine code (inspect --census)"}};
}

std::optional<std::filesystem::path> find_tool(const std::string& name, const Settings& settings) {
  std::vector<std::filesystem::path> folders = settings.program_folders;
  for (const auto& root : settings.search.cuda_roots) folders.push_back(root / "bin");
  return find_program(name, folders);
}

NcuOutcome no_counters() {
  return {.reason = "a recorded device has no counters to read",
          .remedies = {"run it on a machine with an NVIDIA GPU: --device cuda:0"}};
}

Result<NcuOutcome> take_profile(const Candidate& candidate, const ProfileOptions& options,
                                CompilePool& pool, const Settings& settings) {
  const auto ncu = find_tool("ncu", settings);
  if (!ncu) return no_ncu();
  FATUNE_TRY(const Compiled compiled, pool.compile(compile_request(candidate, options.limits)));
  if (!compiled.ok) return environment_error("cannot compile it again: " + compiled.problem);
  ProfileJob wanted;
  wanted.device = options.device;
  FATUNE_TRY(const JobFile job, write_job(wanted, candidate, compiled, options.limits));
  log::info("profiling " + candidate.kernel->manifest.name + " at " + describe(candidate.problem) +
            " with " + ncu->string());
  return run_ncu({*ncu, job.program, job.arguments, options.limits.arch, options.report});
}

CountKernel counter_of(const DeviceChoice& device, const Settings& settings) {
  return [device, &settings](const Candidate& candidate,
                             const DeviceLimits& limits) -> Result<NcuOutcome> {
    if (device.kind != DeviceChoice::Kind::kGpu) return no_counters();
    FATUNE_TRY(CompilePool pool, open_pool(settings));
    return take_profile(candidate, {limits, device.ordinal}, pool, settings);
  };
}

Result<std::vector<ToolVerdict>> sanitize(const Candidate& candidate, const DeviceLimits& limits,
                                          const DeviceChoice& device, const Settings& settings) {
  if (device.kind != DeviceChoice::Kind::kGpu)
    return sanitizer_not_run("a recorded device runs no kernels");
  const auto tool = find_tool("compute-sanitizer", settings);
  if (!tool) {
    return sanitizer_not_run(
        "compute-sanitizer is neither on PATH nor in a CUDA folder; it is part of the CUDA "
        "toolkit");
  }
  FATUNE_TRY(const auto edges, sanitizer_candidates(candidate, limits));
  if (edges.empty()) return sanitizer_not_run("the config can do none of the edge problems");
  std::vector<std::vector<ToolVerdict>> runs;
  for (const Candidate& edge : edges) {
    FATUNE_TRY(runs.emplace_back(), watch(*tool, edge, limits, device.ordinal, settings));
  }
  return worst_of(runs);
}

Result<std::vector<std::string>> keep_outputs(const Candidate& candidate,
                                              const DeviceLimits& limits, int device,
                                              const std::filesystem::path& folder,
                                              const Settings& settings) {
  FATUNE_TRY(CompilePool pool, open_pool(settings));
  FATUNE_TRY(const Compiled compiled, pool.compile(compile_request(candidate, limits)));
  const std::string kernel = candidate.kernel->manifest.name;
  if (!compiled.ok) return device_error(kernel + " does not compile: " + compiled.problem);
  ProfileJob wanted;
  wanted.device = device;
  wanted.warm_ups = 0;
  wanted.outputs = std::filesystem::absolute(folder).string();
  FATUNE_TRY(const JobFile job, write_job(wanted, candidate, compiled, limits));
  FATUNE_TRY(const ProgramRun run,
             run_program({.program = job.program, .arguments = job.arguments}, kLongestLaunch));
  if (!run.end)
    return device_error(
        fmt::format("{} had not finished after {} min", kernel, kLongestLaunch.count()));
  if (!run.succeeded()) {
    constexpr std::string_view kError = "fatune: error: ";
    const std::string said = split(trim(run.text), '\n').back();
    return device_error(kernel + " cannot be launched: " +
                        said.substr(said.starts_with(kError) ? kError.size() : 0));
  }
  FATUNE_TRY(const OperationPlan plan,
             candidate.kernel->manifest.operation->plan(candidate.problem));
  std::vector<std::string> files;
  for (const TensorPlan& output : plan.outputs())
    files.push_back((folder / (output.name + ".bin")).string());
  return files;
}

CountUse make_count_use(const DeviceChoice& device, const DeviceLimits& limits,
                        const Settings& settings) {
  if (device.kind == DeviceChoice::Kind::kRecorded) {
    return [](const Candidate&) -> Result<DeviceUse> {
      return DeviceUse{{}, {}, {}, "a recorded device has no counters"};
    };
  }
  const auto counter = std::make_shared<UseCounter>(device.ordinal, limits, settings);
  return [counter](const Candidate& candidate) { return counter->count(candidate); };
}

Result<std::string> disassembly_of(const std::filesystem::path& cubin, const Settings& settings) {
  std::string failures;
  for (const std::string& name : disassemblers()) {
    const auto tool = find_tool(name, settings);
    if (!tool) continue;
    auto text = disassemble(*tool, cubin);
    if (text) return *std::move(text);
    failures += (failures.empty() ? "" : "; ") + text.error().message;
  }
  if (failures.empty())
    failures = "neither " + join(disassemblers(), " nor ") + " is on PATH or in a CUDA folder";
  return environment_error(failures);
}

CubinCensus census_of(const std::filesystem::path& cubin, const Settings& settings) {
  const auto text = disassembly_of(cubin, settings);
  if (!text) return {{}, text.error().message, disassembler_remedy()};
  return {parse_sass(*text), "", ""};
}

std::string census_text(const CubinCensus& census, const Paint& paint) {
  if (census.entries.empty())
    return paint.fitted("no census (not_run): " + census.reason + "\n  - " + census.remedy);
  std::vector<Column> columns = {"instructions"};
  std::vector<std::string> all = {"all"};
  for (const Census& each : census.entries) {
    columns.emplace_back(">" + each.entry);
    all.push_back(fmt::to_string(each.instructions));
  }
  Table table(std::move(columns));
  table.add(std::move(all));
  const auto classes = instruction_classes();
  for (std::size_t i = 0; i < classes.size(); ++i) {
    std::vector<std::string> row = {std::string(classes[i].what)};
    for (const Census& each : census.entries) row.push_back(fmt::to_string(each.counts[i]));
    const bool occurs = std::any_of(row.begin() + 1, row.end(),
                                    [](const std::string& count) { return count != "0"; });
    if (occurs) table.add(std::move(row));
  }
  return table.text(paint.columns());
}

}  // namespace fatune::cli
