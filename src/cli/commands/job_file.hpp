// job_file.hpp - a compiled candidate to the job file of a profile-worker, which a tool watches.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "core/scratch_folder.hpp"
#include "model/kernel/candidate.hpp"
#include "worker/protocol/compilation.hpp"
#include "worker/protocol/messages.hpp"

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
