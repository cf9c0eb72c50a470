// guard.hpp - the process between fatune and a proposer: it counts what the proposer starts, and
// ends all of it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "evolve/proposers/proposer.hpp"

namespace fatune {

inline constexpr const char* kProposerGuard = "proposer-guard";

/// How a guard ends where not as its program does.
enum GuardEnd : int {
  kGuardTooMany = 121,   ///< processes
  kGuardTooLarge = 122,  ///< memory
  kGuardEnded = 123,     ///< it was told to
  kGuardFailed = 124     ///< the program could not be started
};

/// What to start fatune with, so that it guards the command.
std::vector<std::string> guard_arguments(const std::string& command, const ProposerLimits& limits);

/// The body of `fatune proposer-guard PROCESSES BYTES COMMAND`. The command runs in a shell, on
/// this process's stdin, stdout and stderr. SIGTERM, the end of fatune and the command's own end
/// each end all that it has started, whatever session or group that moved to.
int proposer_guard_main(std::span<const std::string> args);

}  // namespace fatune
