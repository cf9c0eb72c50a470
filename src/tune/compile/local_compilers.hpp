// local_compilers.hpp: Runs the compile worker processes of this host, one order each.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/child.hpp"
#include "core/result.hpp"
#include "tune/compile/service.hpp"
#include "worker/protocol/compilation.hpp"

namespace fatune {

/// A queue whose tickets compile workers take and finish.
class CompileQueue {
 public:
  Ticket add(CompileOrder order);
  Ticket add_done(Compiled compiled);  ///< for a result known at once
  std::size_t waiting() const { return waiting_.size(); }
  /// Skips tickets whose key another ticket compiles: finish() answers both.
  std::optional<Ticket> next();
  void put_back(Ticket ticket);  ///< makes the ticket the next one
  const CompileOrder& order(Ticket ticket) const { return orders_.at(ticket); }
  void finish(Ticket ticket, Compiled compiled);
  void forget(Ticket ticket);
  bool ready(Ticket ticket) const { return done_.contains(ticket); }
  Compiled take(Ticket ticket);  ///< must be ready

 private:
  std::map<Ticket, CompileOrder> orders_;  ///< of all tickets that are not done
  std::deque<Ticket> waiting_;
  std::vector<Ticket> given_;  ///< returned by next() and not done
  std::map<Ticket, Compiled> done_;
  Ticket last_ = 0;
};

/// The reply of a compile process to a ticket.
struct Answered {
  Ticket ticket = 0;
  Reply reply;
};

/// Uses processes, because threads of one compiler stop scaling. Starts processes as work needs
/// them.
class LocalCompilers {
 public:
  LocalCompilers(WorkerOptions options, std::size_t jobs, std::chrono::seconds deadline)
      : options_(std::move(options)), jobs_(jobs), deadline_(deadline) {}

  const WorkerOptions& options() const { return options_; }
  std::size_t jobs() const { return jobs_; }
  /// Greeting of the latest process; none before the first hear().
  const std::optional<Greeting>& compiler() const { return compiler_; }
  Status start_worker();
  /// Number of tickets that are with a process, or wait for a second try.
  std::size_t busy() const { return compiling() + second_tries_.size(); }
  Status dispatch(CompileQueue& queue);
  /// Returns new answers and kills processes past their deadline. A process that does not start is
  /// an environment error.
  Result<std::vector<Answered>> hear();
  std::vector<int> descriptors();
  /// Returns when the next process must be killed.
  std::chrono::steady_clock::time_point next_deadline() const;
  /// Ends the compilation if it is running.
  void cancel(Ticket ticket);

 private:
  using Clock = std::chrono::steady_clock;
  struct Worker {
    std::size_t number = 0;  ///< from 0; reused after a worker has ended
    Child child;
    bool greeted = false;
    bool fresh = true;  ///< has compiled nothing yet
    std::optional<CompileOrder> order;
    Ticket ticket = 0;  ///< of the order
    /// Of the greeting. Then the first time at which the compilation can have had its CPU time.
    Clock::time_point deadline;
    Clock::time_point last = {};            ///< when the compilation ends in any case
    std::chrono::nanoseconds cpu_had = {};  ///< before the order
  };
  struct SecondTry {
    Ticket ticket = 0;
    CompileOrder order;
  };

  std::size_t compiling() const;
  Status dispatch_second_try();
  Status give(Worker& worker, Ticket ticket, const CompileOrder& order);
  Status handle(Worker& worker, std::vector<Answered>& answers);
  Status take_greeting(Worker& worker, const Json& message);
  Status take_reply(Worker& worker, const Json& message, std::vector<Answered>& answers);
  Status lost(Worker& worker, const std::string& how, std::vector<Answered>& answers);
  Status kill_late(std::vector<Answered>& answers);
  std::string why_late(Worker& worker);

  WorkerOptions options_;
  std::size_t jobs_;
  std::chrono::seconds deadline_;
  std::optional<Greeting> compiler_;
  std::vector<Worker> workers_;
  /// Orders whose worker was killed: each is tried once more in a fresh worker, alone.
  std::deque<SecondTry> second_tries_;
  std::optional<Ticket> second_try_;  ///< the running second try
};

}  // namespace fatune
