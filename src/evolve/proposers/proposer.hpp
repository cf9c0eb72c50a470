// proposer.hpp: Declares proposers: user programs that write kernels, and transcript replay.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "core/result.hpp"

namespace fatune {

/// An answer line, or the reason for its absence. The run is charged for both.
struct ProposerAnswer {
  std::string line;
  std::string failure;  ///< empty if the line is an answer
};

class Proposer {
 public:
  virtual ~Proposer() = default;
  /// Sends one line and receives one. `number` counts the requests of a run from 0. Ends the run
  /// with an error at an interrupt, without a process, for an unknown command, or at a transcript's
  /// end.
  virtual Result<ProposerAnswer> ask(std::int64_t number, const std::string& request) = 0;
};

inline constexpr std::size_t kLongestAnswer = std::size_t{4} << 20U;  ///< maximum bytes of a line

/// Resource limits of a proposer. A proposer above a limit is ended with all its descendants.
struct ProposerLimits {
  std::chrono::seconds answer{300};
  std::int64_t processes = 64;             ///< processes at one time
  std::int64_t memory_bytes = 8LL << 30U;  ///< resident bytes of all processes together
};

/// Runs `command` in a shell, anew for each request: the request is its stdin, the first line of
/// its stdout the answer. Appends its stderr to `errors`.
std::unique_ptr<Proposer> make_command_proposer(std::string command, const ProposerLimits& limits,
                                                const std::filesystem::path& errors);

/// Answers from a transcript, in order. Warns once if a request differs from the recorded one.
Result<std::unique_ptr<Proposer>> make_replay_proposer(const std::filesystem::path& transcript);

}  // namespace fatune
