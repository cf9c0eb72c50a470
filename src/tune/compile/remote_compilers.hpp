// remote_compilers.hpp - orders of a pool to whoever compiles on other ranks, and their machine
// code to this host's cache.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <vector>

#include "core/channel.hpp"
#include "core/result.hpp"
#include "tune/compile/queue.hpp"
#include "tune/compile/remote_messages.hpp"

namespace fatune {

/// Nothing depends on them: what is refused, or away for too long, or with them when the channel
/// breaks, goes back to the queue for this host's processes.
class RemoteCompilers {
 public:
  /// The channel leads to the rank that started this process. `jobs`: orders that may be away at
  /// once. `first_process`: of Compiled::process.
  RemoteCompilers(Channel channel, std::size_t jobs, std::size_t first_process,
                  std::chrono::seconds longest_away)
      : channel_(std::move(channel)),
        jobs_(jobs),
        first_process_(first_process),
        longest_away_(longest_away) {}

  std::size_t jobs() const { return jobs_; }
  std::size_t busy() const { return away_.size(); }
  void hand_out(CompileQueue& queue);
  /// What has come since, stored where a compile process would have stored it.
  std::vector<Answered> hear(CompileQueue& queue, const WorkerOptions& stores);
  /// The one that has been away for longest, if that is too long.
  void take_back_late(CompileQueue& queue);
  /// Forgets the compilation, if it is away.
  void cancel(Ticket ticket);
  int descriptor() const { return channel_.descriptor(); }  ///< -1: there is no channel any more

 private:
  using Clock = std::chrono::steady_clock;
  struct Away {
    std::size_t process = 0;
    Clock::time_point since;
  };

  std::size_t free_process() const;
  void settle(CompiledMessage message, CompileQueue& queue, const WorkerOptions& stores,
              std::vector<Answered>& answers);
  void leave(CompileQueue& queue, const Error& why);

  Channel channel_;
  std::size_t jobs_, first_process_;
  std::chrono::seconds longest_away_;
  std::map<Ticket, Away> away_;
};

}  // namespace fatune
