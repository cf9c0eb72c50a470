// guard.hpp: Declares the guard process that watches and ends everything a proposer starts.
#pragma once

#include <csignal>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include <sys/types.h>

#include "evolve/proposers/proposer.hpp"

namespace fatune {

inline constexpr const char* kProposerGuard = "proposer-guard";

/// Signals by which a guard ends itself; a program's signal becomes an exit code instead.
inline constexpr int kGuardTooMany = SIGUSR1;   ///< too many processes
inline constexpr int kGuardTooLarge = SIGUSR2;  ///< too much memory
/// Exit codes of the guard that are not the program's.
inline constexpr int kGuardEnded = 123;   ///< the guard was told to end
inline constexpr int kGuardFailed = 124;  ///< the program could not be started

/// Returns the arguments that make fatune guard the command.
std::vector<std::string> guard_arguments(const std::string& command, const ProposerLimits& limits);

/// Runs `fatune proposer-guard PROCESSES BYTES COMMAND`: the command in a shell, on this process's
/// stdin, stdout and stderr. SIGTERM, the end of fatune or the command's end kill every process
/// that the command has started, whatever its session or group.
int proposer_guard_main(std::span<const std::string> args);

/// Kills every live descendant of this process, except the spared ones.
void end_below(const std::map<pid_t, std::int64_t>& spared = {});

/// Adopts what loses its guard, because a proposer may kill the guard. The destructor ends all that
/// was started since the constructor.
class Adoption {
 public:
  Adoption();
  Adoption(const Adoption&) = delete;
  Adoption& operator=(const Adoption&) = delete;
  ~Adoption();

 private:
  std::map<pid_t, std::int64_t> before_;
};

}  // namespace fatune
