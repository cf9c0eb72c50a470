// job_file.cpp - writes the job into a folder of its own.
#include "cli/commands/job_file.hpp"

#include <utility>

#include <nlohmann/json.hpp>

#include "core/file.hpp"

namespace fatune::cli {

Result<JobFile> write_job(ProfileJob job, const Candidate& candidate, const Compiled& compiled,
                          const DeviceLimits& limits) {
  job.problem = candidate.problem;
  if (candidate.problem.custom) {
    FATUNE_TRY(job.custom, candidate.kernel->manifest.operation->plan(candidate.problem));
  }
  job.program.cubin = compiled.cubin_path.string();
  FATUNE_TRY(job.program.plan, launch_plan(candidate, limits));
  FATUNE_TRY(ScratchFolder folder, ScratchFolder::make());
  const std::filesystem::path file = folder.path() / "job.json";
  FATUNE_TRY_STATUS(replace_file(file, dump_pretty(to_json(job))));
  return JobFile{std::move(folder), executable_path(), {"profile-worker", file.string()}};
}

}  // namespace fatune::cli
