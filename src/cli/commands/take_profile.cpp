// take_profile.cpp - compiles, writes the job, runs ncu.
#include "cli/commands/take_profile.hpp"

#include <utility>

#include "cli/commands/job_file.hpp"
#include "cli/doctor/tools_on_path.hpp"
#include "core/log.hpp"
#include "core/text.hpp"

namespace fatune::cli {

Result<NcuOutcome> take_profile(const Candidate& candidate, const DeviceLimits& limits, int device,
                                CompilePool& pool, const Settings& settings) {
  const auto ncu = find_tool("ncu", settings);
  if (!ncu) return no_ncu();
  FATUNE_TRY(const Compiled compiled, pool.compile(compile_request(candidate, limits)));
  if (!compiled.ok) return environment_error("cannot compile it again: " + compiled.problem);
  ProfileJob wanted;
  wanted.device = device;
  FATUNE_TRY(const JobFile job, write_job(wanted, candidate, compiled, limits));
  NcuRequest request;
  request.ncu = *ncu;
  request.program = job.program;
  request.arguments = job.arguments;
  request.arch = limits.arch;
  log::info("profiling " + candidate.kernel->manifest.name + " at " + describe(candidate.problem) +
            " with " + ncu->string());
  return run_ncu(request);
}

}  // namespace fatune::cli
