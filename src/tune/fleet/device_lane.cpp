// device_lane.cpp: Opens a device in a thread, and sweeps the parts assigned to it.
#include "tune/fleet/device_lane.hpp"

#include <utility>

namespace fatune {

DeviceLane::DeviceLane(std::string name, Open open, const MakeSweepPart& make)
    : name_(std::move(name)), open_(std::move(open)), make_(make), thread_([this] { work(); }) {}

DeviceLane::~DeviceLane() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void DeviceLane::work() {
  for (;;) {
    auto evaluator = open_();
    {
      const std::lock_guard lock(mutex_);
      if (!evaluator) {
        failure_ = evaluator.error();
      } else if (!environment_) {
        environment_ = (*evaluator)->environment();
      }
    }
    if (!evaluator) return refuse_parts(evaluator.error());
    if (!sweep_parts(**evaluator)) return;
  }
}

/// Sweeps until a part fails (true) or the lane stops (false). After a failure the evaluator may
/// have candidates in flight, so the lane opens a new one.
bool DeviceLane::sweep_parts(Evaluator& evaluator) {
  SweepPart sweep;
  while (const std::optional<std::size_t> part = wait_for_part()) {
    if (!sweep) {
      sweep = make_(evaluator, name_, [this](std::string words) {
        const std::lock_guard lock(mutex_);
        said_ = std::move(words);
      });
    }
    Result<ProblemResult> result = sweep(*part);
    const bool failed = !result;
    end_part(std::move(result));
    if (failed) return true;
  }
  return false;
}

void DeviceLane::refuse_parts(const Error& failure) {
  while (wait_for_part()) end_part(failure);
}

void DeviceLane::end_part(Result<ProblemResult> result) {
  {
    const std::lock_guard lock(mutex_);
    part_.reset();
    result_ = std::move(result);
  }
  changed_.notify_all();
}

std::optional<std::size_t> DeviceLane::wait_for_part() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return stop_ || part_; });
  return stop_ ? std::nullopt : part_;
}

std::string DeviceLane::said() const {
  const std::lock_guard lock(mutex_);
  return said_;
}

bool DeviceLane::opening() const {
  const std::lock_guard lock(mutex_);
  return !environment_ && !failure_;
}

const Environment* DeviceLane::environment() const {
  const std::lock_guard lock(mutex_);
  return environment_ ? &*environment_ : nullptr;
}

Status DeviceLane::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_ ? Status(*failure_) : Status();
}

bool DeviceLane::able() const {
  const std::lock_guard lock(mutex_);
  return environment_ && !failure_;
}

Status DeviceLane::begin(std::size_t part) {
  {
    const std::lock_guard lock(mutex_);
    FATUNE_CHECK(!part_, "a lane has one part at a time");
    part_ = part;
    result_.reset();
    said_.clear();
  }
  changed_.notify_all();
  return {};
}

/// Returns a file error as the failure of the whole sweep, not of the part.
Result<PartReport> DeviceLane::look() {
  const std::lock_guard lock(mutex_);
  if (!result_) return PartReport{};
  if (*result_) return PartReport{PartReport::State::kEnded, ""};
  const Error& error = result_->error();
  if (error.kind == ErrorKind::kFile) return error;
  return PartReport{PartReport::State::kFailed, error.message};
}

void DeviceLane::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !part_; });
}

std::optional<ProblemResult> DeviceLane::take_result() {
  const std::lock_guard lock(mutex_);
  if (!result_ || !*result_) return std::nullopt;
  return std::move(**std::exchange(result_, std::nullopt));
}

}  // namespace fatune
