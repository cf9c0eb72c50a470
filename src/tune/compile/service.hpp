// service.hpp - compilations as the evaluator asks for them: submitted, ahead of time, awaited.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/kernel/candidate.hpp"
#include "worker/protocol/compilation.hpp"

namespace fatune {

using Ticket = std::uint64_t;

/// Single-threaded use; the owner polls descriptors() and calls pump(). Tests put a fake in the
/// place of the pool.
class CompileService {
 public:
  virtual ~CompileService() = default;
  virtual Ticket submit(const CompileRequest& request) = 0;
  virtual bool ready(Ticket ticket) const = 0;
  virtual Compiled take(Ticket ticket) = 0;  ///< must be ready
  /// Compile processes that have nothing to do and nothing waiting for them.
  virtual std::size_t idle() const = 0;
  /// Forgets a request, whatever became of it so far; a compilation under way is ended.
  virtual void cancel(Ticket ticket) = 0;
  /// Moves results out of workers, kills those past their deadline, hands out queued work. Waits up
  /// to `patience` for something.
  virtual Status pump(std::chrono::milliseconds patience) = 0;
  virtual std::vector<int> descriptors() const = 0;  ///< to poll
};

/// Pumps until the ticket is ready, and takes it.
Result<Compiled> wait_for(CompileService& service, Ticket ticket);

/// Speculative compilation. A candidate that is never submitted leaves its machine code in the
/// compilation cache and no other trace. `compiler` must outlive it.
class CompileAhead {
 public:
  CompileAhead(CompileService& compiler, DeviceLimits limits);

  /// Replaces the wanted candidates, the likeliest first; those that have not begun are dropped.
  void want(std::vector<Candidate> likely);
  /// Begins compilations while more than `keep_free` compile processes are idle; those stay free
  /// for candidates that may be submitted meanwhile.
  Status begin(std::size_t keep_free);
  /// The compilation, under way or ended, of a candidate that is submitted now; from then on it is
  /// the caller's. Empty when it has not begun, and then it never does.
  std::optional<Ticket> claim(const std::string& key);
  /// Ends what is under way and forgets everything.
  void clear();

  std::size_t begun() const { return begun_; }      ///< since the last clear()
  std::size_t claimed() const { return claimed_; }  ///< of those

 private:
  CompileService& compiler_;
  DeviceLimits limits_;
  std::vector<Candidate> wanted_;          ///< the likeliest last
  std::map<std::string, Ticket> tickets_;  ///< by the candidate's key
  std::size_t begun_ = 0, claimed_ = 0;
};

}  // namespace fatune
