// proposer.hpp - programs of the user that write kernels, asked over a pipe, and what answers in
// their place from a transcript.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "core/result.hpp"

namespace fatune {

/// A line, or why there is none; either is charged to the run.
struct ProposerAnswer {
  std::string line;
  std::string failure;  ///< empty: the line is an answer
};

class Proposer {
 public:
  virtual ~Proposer() = default;
  /// Sends one line and takes one; `number` counts the requests of a run from 0. An error ends the
  /// run: an interrupt, no process to be had, a command that no shell finds, a transcript at its
  /// end.
  virtual Result<ProposerAnswer> ask(std::int64_t number, const std::string& request) = 0;
};

inline constexpr std::size_t kLongestAnswer = std::size_t{4} << 20U;  ///< bytes of a line

/// What a proposer may use; beyond it, it is ended with all that it has started.
struct ProposerLimits {
  std::chrono::seconds answer{300};
  std::int64_t processes = 64;             ///< at once
  std::int64_t memory_bytes = 8LL << 30U;  ///< resident, of all of them together
};

/// `command` is a shell's. Each request starts it anew: the request is its stdin, which then ends;
/// the first line of its stdout is the answer. Its stderr is added to `errors`.
std::unique_ptr<Proposer> make_command_proposer(std::string command, const ProposerLimits& limits,
                                                const std::filesystem::path& errors);

/// Answers with what a transcript has, in its order; says once when a request is not the one that
/// was answered then.
Result<std::unique_ptr<Proposer>> make_replay_proposer(const std::filesystem::path& transcript);

}  // namespace fatune
