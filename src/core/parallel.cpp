// parallel.cpp: Runs the pieces of a range on a pool of threads, and sets the threads' time slice.
#include "core/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace fatune {
namespace {

constexpr std::size_t kMostThreads = 16;  // chosen: memory is saturated by then

/// A range of indices, taken piece by piece.
class Range {
 public:
  Range(std::size_t count, std::size_t pieces, const RangeWork& work)
      : count_(count), pieces_(pieces), work_(work) {}

  /// Runs pieces until none is left.
  void share() {
    for (std::size_t piece = next_++; piece < pieces_; piece = next_++) {
      work_(start_of(piece), start_of(piece + 1));
      if (++done_ == pieces_) done_.notify_one();
    }
  }
  /// Waits for pieces that other threads took.
  void wait() const {
    for (std::size_t done = done_; done < pieces_; done = done_) done_.wait(done);
  }

 private:
  std::size_t start_of(std::size_t piece) const {
    return count_ / pieces_ * piece + std::min(piece, count_ % pieces_);
  }

  std::size_t count_, pieces_;
  const RangeWork& work_;  ///< owned by the caller, which waits for every piece taken
  std::atomic<std::size_t> next_{0}, done_{0};
};

/// Threads that help callers. On a busy host a new thread starts a timer tick or more late, and a
/// fixed division of the work would wait for it. Here a late thread finds no piece left.
class ThreadPool {
 public:
  /// Returns the pool of the process, which is never destroyed, because its threads may wait on it.
  static ThreadPool& instance() {
    static ThreadPool& pool = *new ThreadPool;
    return pool;
  }

  void offer(std::shared_ptr<Range> range, std::size_t wanted) {
    const std::scoped_lock lock(mutex_);
    start(wanted);
    range_ = std::move(range);
    wanted_ = wanted;
    for (std::size_t i = 0; i < wanted; ++i) offered_.notify_one();
  }

 private:
  void start(std::size_t wanted) {
    try {
      for (; started_ < wanted; ++started_) std::thread([this] { run(); }).detach();
    } catch (const std::system_error&) {
      // No thread could be started: the callers do more pieces.
    }
  }

  [[noreturn]] void run() {
    for (;;) {
      std::unique_lock lock(mutex_);
      offered_.wait(lock, [this] { return wanted_ > 0; });
      --wanted_;
      const std::shared_ptr<Range> range = range_;
      lock.unlock();
      range->share();
    }
  }

  std::mutex mutex_;
  std::condition_variable offered_;
  std::shared_ptr<Range> range_;  ///< the newest range
  std::size_t wanted_ = 0;        ///< threads that may still join `range_`
  std::size_t started_ = 0;
};

/// The kernel's struct sched_attr (sched_setattr(2)); `runtime` is in nanoseconds.
struct Attributes {
  std::uint32_t size = sizeof(Attributes), policy = SCHED_OTHER;
  std::uint64_t flags = 0;
  std::int32_t niceness = 0;
  std::uint32_t priority = 0;
  std::uint64_t runtime = 0, deadline = 0, period = 0;
};

std::optional<Attributes> attributes() {
  Attributes found;
  const long failed = ::syscall(SYS_sched_getattr, 0, &found, sizeof(found), 0);
  return failed == 0 ? std::optional(found) : std::nullopt;
}

}  // namespace

void parallel_for(std::size_t count, std::size_t least, const RangeWork& work) {
  const std::size_t cores =
      std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1, kMostThreads);
  const std::size_t pieces =
      std::clamp<std::size_t>(count / std::max<std::size_t>(least, 1), 1, cores);
  if (pieces == 1) return work(0, count);
  const auto range = std::make_shared<Range>(count, pieces, work);
  ThreadPool::instance().offer(range, pieces - 1);
  range->share();
  range->wait();
}

void set_time_slice(std::chrono::microseconds slice) {
  std::optional<Attributes> asked = attributes();
  if (!asked || asked->policy != SCHED_OTHER) return;
  asked->runtime = static_cast<std::uint64_t>(std::chrono::nanoseconds(slice).count());
  // If the kernel refuses, the time slice stays.
  static_cast<void>(::syscall(SYS_sched_setattr, 0, &*asked, 0));
}

std::optional<std::chrono::microseconds> time_slice() {
  const std::optional<Attributes> found = attributes();
  if (!found || found->policy != SCHED_OTHER || found->runtime == 0) return std::nullopt;
  return std::chrono::duration_cast<std::chrono::microseconds>(
      std::chrono::nanoseconds(found->runtime));
}

}  // namespace fatune
