// parallel.cpp - pieces to whoever comes first: the caller, and threads that wait for a range.
#include "core/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

namespace fatune {
namespace {

constexpr std::size_t kMostThreads = 16;  // chosen: memory is saturated by then

/// A call's pieces.
class Range {
 public:
  Range(std::size_t count, std::size_t pieces, const RangeWork& work)
      : count_(count), pieces_(pieces), work_(work) {}

  /// Takes pieces until none is left.
  void share() {
    for (std::size_t piece = next_++; piece < pieces_; piece = next_++) {
      work_(start_of(piece), start_of(piece + 1));
      if (++done_ == pieces_) done_.notify_one();
    }
  }
  /// For those that others took.
  void wait() const {
    for (std::size_t done = done_; done < pieces_; done = done_) done_.wait(done);
  }

 private:
  std::size_t start_of(std::size_t piece) const {
    return count_ / pieces_ * piece + std::min(piece, count_ % pieces_);
  }

  std::size_t count_, pieces_;
  const RangeWork& work_;  ///< the caller's, who waits for every piece that was taken
  std::atomic<std::size_t> next_{0}, done_{0};
};

/// Threads that help callers. On a host whose cores all work, a new thread begins a timer tick or
/// more later, and a caller that divided its work would wait for it; of these one that is late
/// finds nothing to do.
class Helpers {
 public:
  /// Of the process. They end with it: nothing is destroyed that one of them waits on.
  static Helpers& here() {
    static Helpers& helpers = *new Helpers;
    return helpers;
  }

  void call(std::shared_ptr<Range> range, std::size_t wanted) {
    const std::scoped_lock lock(mutex_);
    start(wanted);
    range_ = std::move(range);
    wanted_ = wanted;
    for (std::size_t i = 0; i < wanted; ++i) called_.notify_one();
  }

 private:
  void start(std::size_t wanted) {
    try {
      for (; started_ < wanted; ++started_) std::thread([this] { help(); }).detach();
    } catch (const std::system_error&) {
      // No more threads: the callers have more to do.
    }
  }

  [[noreturn]] void help() {
    for (;;) {
      std::unique_lock lock(mutex_);
      called_.wait(lock, [this] { return wanted_ > 0; });
      --wanted_;
      const std::shared_ptr<Range> range = range_;
      lock.unlock();
      range->share();
    }
  }

  std::mutex mutex_;
  std::condition_variable called_;
  std::shared_ptr<Range> range_;  ///< the newest
  std::size_t wanted_ = 0;        ///< who may still begin with it
  std::size_t started_ = 0;
};

}  // namespace

void parallel_for(std::size_t count, std::size_t least, const RangeWork& work) {
  const std::size_t cores =
      std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1, kMostThreads);
  const std::size_t pieces =
      std::clamp<std::size_t>(count / std::max<std::size_t>(least, 1), 1, cores);
  if (pieces == 1) return work(0, count);
  const auto range = std::make_shared<Range>(count, pieces, work);
  Helpers::here().call(range, pieces - 1);
  range->share();
  range->wait();
}

}  // namespace fatune
