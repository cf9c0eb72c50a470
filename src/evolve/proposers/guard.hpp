// guard.hpp - the process between fatune and a proposer: it counts what the proposer starts, and
// ends all of it.
#pragma once

#include <csignal>
#include <span>
#include <string>
#include <vector>

#include "evolve/proposers/proposer.hpp"

namespace fatune {

inline constexpr const char* kProposerGuard = "proposer-guard";

/// Signals that a guard ends itself by. Its program's end, by a signal, too, is an exit code.
inline constexpr int kGuardTooMany = SIGUSR1;   ///< processes
inline constexpr int kGuardTooLarge = SIGUSR2;  ///< memory
/// Exit codes where it does not end as its program does.
inline constexpr int kGuardEnded = 123;   ///< it was told to
inline constexpr int kGuardFailed = 124;  ///< the program could not be started

/// What to start fatune with, so that it guards the command.
std::vector<std::string> guard_arguments(const std::string& command, const ProposerLimits& limits);

/// The body of `fatune proposer-guard PROCESSES BYTES COMMAND`. The command runs in a shell, on
/// this process's stdin, stdout and stderr. SIGTERM, the end of fatune and the command's own end
/// each end all that it has started, whatever session or group that moved to.
int proposer_guard_main(std::span<const std::string> args);

}  // namespace fatune
