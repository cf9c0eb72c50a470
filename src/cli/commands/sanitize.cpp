// sanitize.cpp - compiles a config for an edge problem and lets compute-sanitizer watch its
// launches.
#include "cli/commands/sanitize.hpp"

#include <optional>
#include <utility>

#include "cli/commands/job_file.hpp"
#include "cli/doctor/tools_on_path.hpp"
#include "cli/options/services.hpp"
#include "core/log.hpp"
#include "model/space/rules.hpp"
#include "tune/evaluate/edge_problems.hpp"
#include "tune/profile/sanitizer.hpp"

namespace fatune::cli {
namespace {

constexpr std::uint64_t kSeed = 42;
constexpr std::int64_t kMostKeys = 256;  // chosen: kernels run up to 100 times slower

/// The last small edge problem that the config can do: the later ones have more in them.
Result<std::optional<Candidate>> awkward(Candidate candidate, const DeviceLimits& limits) {
  std::optional<Candidate> found;
  FATUNE_TRY(const std::vector<EdgeProblem> edges,
             edge_problems(candidate.problem, kSeed, candidate.kernel->manifest.operation));
  for (const EdgeProblem& edge : edges) {
    if (edge.problem.seq_kv > kMostKeys) continue;
    candidate.problem = edge.problem;
    FATUNE_TRY(const std::string reason, impossible_reason(candidate, limits));
    if (reason.empty()) found = candidate;
  }
  return found;
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

}  // namespace

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
  FATUNE_TRY(const auto edge, awkward(candidate, limits));
  if (!edge) return sanitizer_not_run("the config can do none of the edge problems");
  return watch(*tool, *edge, limits, device.ordinal, settings);
}

}  // namespace fatune::cli
