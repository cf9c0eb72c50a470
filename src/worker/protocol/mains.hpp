// mains.hpp - the bodies of the hidden commands that the parent starts as child processes.
#pragma once

#include <span>
#include <string>

namespace fatune {

/// Body of the hidden `fatune compile-worker ARGS` command: serves requests on descriptor 3 until
/// it closes. `args` are those that the pool gave, after the command's name. Returns the exit code.
int compile_worker_main(std::span<const std::string> args);

/// Body of the hidden `fatune device-worker ORDINAL` command: serves orders on descriptor 3 until
/// it closes. `args` is what follows the command's name. Returns the exit code.
int device_worker_main(std::span<const std::string> args);

/// Body of the hidden `fatune profile-worker JOB.json` command. Returns the exit code.
int profile_worker_main(std::span<const std::string> args);

}  // namespace fatune
