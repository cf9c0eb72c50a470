// take_profile.cpp - compiles, writes the job, runs ncu.
#include "cli/take_profile.hpp"

#include <utility>

#include <nlohmann/json.hpp>

#include "base/file.hpp"
#include "base/log.hpp"
#include "base/scratch_folder.hpp"
#include "base/text.hpp"
#include "cli/tools_on_path.hpp"

namespace fatune::cli {

Result<NcuOutcome> take_profile(const Candidate& candidate, const DeviceLimits& limits, int device,
                                CompilePool& pool, const Settings& settings) {
  const auto ncu = find_tool("ncu", settings.search.cuda_roots);
  if (!ncu) return no_ncu();
  FATUNE_TRY(const Compiled compiled, pool.compile(compile_request(candidate, limits)));
  if (!compiled.ok) return environment_error("cannot compile it again: " + compiled.problem);
  ProfileJob job;
  job.device = device;
  job.problem = candidate.problem;
  job.program.cubin = compiled.cubin_path.string();
  FATUNE_TRY(job.program.plan, launch_plan(candidate, limits));
  FATUNE_TRY(const ScratchFolder folder, ScratchFolder::make());
  const auto file = folder.path() / "job.json";
  FATUNE_TRY_STATUS(replace_file(file, dump_pretty(to_json(job))));
  NcuRequest request;
  request.ncu = *ncu;
  request.program = executable_path();
  request.arguments = {"profile-worker", file.string()};
  request.arch = limits.arch;
  log::info("profiling " + candidate.kernel->manifest.name + " at " + describe(candidate.problem) +
            " with " + ncu->string());
  return run_ncu(request);
}

}  // namespace fatune::cli
