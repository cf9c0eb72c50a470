// profile_job.hpp - a compiled candidate to the job file of a profile-worker, which a tool watches.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/scratch_folder.hpp"
#include "compile/compiled.hpp"
#include "evaluate/profile_run.hpp"
#include "space/candidate.hpp"

namespace fatune::cli {

/// Lives until the tool has ended.
struct JobFile {
  ScratchFolder folder;
  std::filesystem::path program;       ///< this one
  std::vector<std::string> arguments;  ///< that make it a worker of the job
};
/// `job` says device and warm-ups; program and problem are filled in from the candidate.
Result<JobFile> write_job(ProfileJob job, const Candidate& candidate, const Compiled& compiled,
                          const DeviceLimits& limits);

}  // namespace fatune::cli
