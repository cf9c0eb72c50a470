// local_compilers.hpp - compile worker processes of this host: an order each, watched and ended.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "core/child.hpp"
#include "core/result.hpp"
#include "tune/compile/queue.hpp"

namespace fatune {

/// Processes, because the compiler's threads stop scaling. They are started as work needs them.
class LocalCompilers {
 public:
  LocalCompilers(WorkerOptions options, std::size_t jobs, std::chrono::seconds deadline)
      : options_(std::move(options)), jobs_(jobs), deadline_(deadline) {}

  const WorkerOptions& options() const { return options_; }
  std::size_t jobs() const { return jobs_; }
  /// Of the process that greeted last; none greets before hear() has been called.
  const std::optional<Greeting>& compiler() const { return compiler_; }
  Status start_worker();
  /// Tickets that are given to a process, or were and will be again.
  std::size_t busy() const { return compiling() + second_tries_.size(); }
  Status hand_out(CompileQueue& queue);
  /// What has come since; processes past their deadline are killed. A process that does not start
  /// is an environment error.
  Result<std::vector<Answered>> hear();
  std::vector<int> descriptors();
  /// When a process will have to be killed.
  std::chrono::steady_clock::time_point next_deadline() const;
  /// Ends the compilation, if it is under way here.
  void cancel(Ticket ticket);

 private:
  using Clock = std::chrono::steady_clock;
  struct Worker {
    std::size_t number = 0;  ///< from 0; a worker that is gone leaves its number to another
    Child child;
    bool greeted = false;
    bool fresh = true;  ///< has compiled nothing
    std::optional<CompileOrder> order;
    Ticket ticket = 0;           ///< of the order
    Clock::time_point deadline;  ///< of the greeting, then of the compilation
  };
  struct SecondTry {
    Ticket ticket = 0;
    CompileOrder order;
  };

  std::size_t compiling() const;
  Status hand_out_second_try();
  Status give(Worker& worker, Ticket ticket, const CompileOrder& order);
  Status handle(Worker& worker, std::vector<Answered>& answers);
  Status take_greeting(Worker& worker, const Json& message);
  Status take_reply(Worker& worker, const Json& message, std::vector<Answered>& answers);
  Status lost(Worker& worker, const std::string& how, std::vector<Answered>& answers);
  Status kill_late(std::vector<Answered>& answers);

  WorkerOptions options_;
  std::size_t jobs_;
  std::chrono::seconds deadline_;
  std::optional<Greeting> compiler_;
  std::vector<Worker> workers_;
  /// Those whose worker was killed: each once more in a fresh worker, while no other compiles.
  std::deque<SecondTry> second_tries_;
  std::optional<Ticket> second_try_;  ///< under way
};

}  // namespace fatune
