// runs.cpp - asks a strategy, looks the answer up in the recording, tells it; on several threads.
#include "search/replay/runs.hpp"

#include <algorithm>
#include <atomic>
#include <deque>
#include <functional>
#include <system_error>
#include <thread>

#include <time.h>

#include "core/check.hpp"
#include "core/interrupt.hpp"
#include "search/strategies/rng.hpp"
#include "search/strategies/strategy.hpp"

namespace fatune {
namespace {

/// Processor time of this thread: what else the machine does is not the strategy's.
double thread_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// Neighbouring numbers give seeds that have nothing in common.
std::uint64_t seed_of(std::uint64_t seed, std::size_t repeat) {
  Rng outer(seed);
  return Rng(outer.next() + repeat).next();
}

/// Asks ahead: up to `batch` points wait for their turn to be told, fewer where the strategy wants
/// fewer.
class Run {
 public:
  Run(const Recording& recording, const std::vector<double>& seconds, const RunOptions& options,
      Strategy& strategy)
      : recording_(recording), seconds_(seconds), options_(options), strategy_(strategy) {}

  Trace trace() {
    double spent = 0;
    while (!interrupted() && (!options_.most_seconds || spent < *options_.most_seconds) && fill()) {
      const std::uint64_t index = in_flight_.front();
      in_flight_.pop_front();
      trace_.push_back(static_cast<std::uint32_t>(index));
      if (options_.most_seconds) spent += seconds_[index];
      const double start = thread_seconds();
      strategy_.tell({.point = recording_.lattice.point(index),
                      .cost = recording_.entries[index].cost,
                      .duplicate = false});
      thinking_ += thread_seconds() - start;
    }
    return std::move(trace_);
  }

  double thinking() const { return thinking_; }

 private:
  /// False when nothing is left to be told.
  bool fill() {
    const std::uint64_t most = options_.most_seconds ? recording_.lattice.size() : options_.budget;
    const std::uint64_t may = most - std::min(most, trace_.size() + in_flight_.size());
    const std::size_t room = std::min(options_.batch, strategy_.most_in_flight());
    const std::size_t want = std::min<std::uint64_t>(room - std::min(room, in_flight_.size()), may);
    if (want > 0) {
      const double start = thread_seconds();
      const std::vector<Point> asked = strategy_.ask(want);
      thinking_ += thread_seconds() - start;
      for (const Point& point : asked) {
        const auto index = recording_.lattice.index_of(point);
        FATUNE_CHECK(index.has_value(), "a strategy asks for valid points only");
        in_flight_.push_back(*index);
      }
    }
    return !in_flight_.empty();
  }

  const Recording& recording_;
  const std::vector<double>& seconds_;
  const RunOptions& options_;
  Strategy& strategy_;
  std::deque<std::uint64_t> in_flight_;
  Trace trace_;
  double thinking_ = 0;
};

/// Calls `work` for each number below `count`, on `jobs` threads, each taking the next one.
void for_each_number(std::size_t count, std::size_t jobs,
                     const std::function<void(std::size_t)>& work) {
  std::atomic<std::size_t> next = 0;
  const auto take = [&] {
    for (std::size_t i = next++; i < count; i = next++) work(i);
  };
  std::vector<std::jthread> threads;
  try {
    while (threads.size() + 1 < std::min(jobs, count)) threads.emplace_back(take);
  } catch (const std::system_error&) {
    // No more threads: those that run take all numbers.
  }
  take();
}

}  // namespace

Result<Runs> run_repeats(const Recording& recording, const std::vector<double>& seconds,
                         const RunOptions& options) {
  FATUNE_CHECK(options.batch > 0, "at least one is in flight");
  const auto make = [&](std::size_t repeat) {
    StrategyOptions told;
    told.seed = seed_of(options.seed, repeat);
    told.budget = options.budget;
    told.one_lever = options.one_lever;
    return make_strategy(options.strategy, recording.lattice, told);
  };
  if (const auto first = make(0); !first) return first.error();
  Runs runs;
  runs.traces.resize(options.repeats);
  std::vector<double> thinking(options.repeats);
  const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
  for_each_number(options.repeats, options.jobs > 0 ? options.jobs : cores, [&](std::size_t i) {
    const auto strategy = make(i);
    FATUNE_CHECK(bool(strategy), "what could be made once can be made again");
    Run run(recording, seconds, options, **strategy);
    runs.traces[i] = run.trace();
    thinking[i] = run.thinking();
  });
  if (interrupted()) return Error{ErrorKind::kInterrupted, "interrupted: nothing was scored"};
  for (const double each : thinking) runs.seconds += each;
  return runs;
}

}  // namespace fatune
