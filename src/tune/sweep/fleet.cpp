// fleet.cpp - deals parts to devices as they become free, watches their processes.
#include "tune/sweep/fleet.hpp"

#include <algorithm>
#include <chrono>
#include <list>
#include <numeric>
#include <optional>
#include <thread>
#include <utility>

#include "core/interrupt.hpp"

namespace fatune {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kGlance{20};
constexpr std::chrono::seconds kReportEvery{10};
constexpr std::size_t kMostAttempts = 2;
constexpr std::size_t kMostFailuresInARow = 2;  // of a device

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

struct WaitingPart {
  std::size_t part = 0;
  std::size_t attempts = 0;
  std::size_t failed_on = static_cast<std::size_t>(-1);  ///< a member
};

struct RunningPart {
  WaitingPart part;
  Child child;
  Clock::time_point begin{}, reported{};
};

class Fleet {
 public:
  explicit Fleet(const FleetOptions& options)
      : options_(options), running_(options.devices.size()) {
    for (const std::string& device : options.devices) result_.members.push_back({device});
    std::vector<std::size_t> order(options.costs.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, std::ranges::greater(),
                             [&](std::size_t part) { return options.costs[part]; });
    for (const std::size_t part : order) waiting_.push_back({part});
  }

  Result<FleetResult> run() {
    const Clock::time_point begin = Clock::now();
    while (!waiting_.empty() || is_running()) {
      if (interrupted()) return Error(ErrorKind::kInterrupted, "interrupted");
      for (std::size_t member = 0; member < running_.size(); ++member) {
        look_at(member);
        FATUNE_TRY_STATUS(give_work(member));
      }
      give_up_without_devices();
      std::this_thread::sleep_for(kGlance);
    }
    result_.seconds = seconds_since(begin);
    return std::move(result_);
  }

 private:
  bool is_running() const {
    return std::ranges::any_of(running_, [](const auto& each) { return each.has_value(); });
  }

  void tell(FleetEvent::Kind kind, std::size_t member, const RunningPart& running,
            std::string reason = {}) {
    options_.on_event({kind, running.part.part, &result_.members[member],
                       seconds_since(running.begin), std::move(reason)});
  }

  /// Takes note of a process that has ended.
  void look_at(std::size_t member) {
    std::optional<RunningPart>& running = running_[member];
    if (!running) return;
    const std::optional<ChildEnd> end = running->child.wait(std::chrono::milliseconds(0));
    if (!end) {
      if (Clock::now() - running->reported < kReportEvery) return;
      running->reported = Clock::now();
      return tell(FleetEvent::Kind::kRuns, member, *running);
    }
    FleetMember& device = result_.members[member];
    device.busy_s += seconds_since(running->begin);
    if (!end->signalled && (end->code == 0 || end->code == 1)) {
      ++device.parts;
      device.failures = 0;
      tell(FleetEvent::Kind::kEnds, member, *running);
    } else {
      note_failure(member, *running, options_.reason(running->part.part, *end));
    }
    running.reset();
  }

  void note_failure(std::size_t member, const RunningPart& running, const std::string& reason) {
    FleetMember& device = result_.members[member];
    device.left_out = ++device.failures >= kMostFailuresInARow;
    tell(FleetEvent::Kind::kFails, member, running, reason);
    const std::size_t attempts = running.part.attempts + 1;
    if (attempts < kMostAttempts) {
      waiting_.push_back({running.part.part, attempts, member});
    } else {
      result_.failed.push_back({running.part.part, reason});
    }
  }

  bool has_another(std::size_t member) const {
    for (std::size_t other = 0; other < result_.members.size(); ++other) {
      if (other != member && !result_.members[other].left_out) return true;
    }
    return false;
  }

  Status give_work(std::size_t member) {
    if (running_[member] || result_.members[member].left_out) return {};
    const auto next = std::ranges::find_if(waiting_, [&](const WaitingPart& each) {
      return each.failed_on != member || !has_another(member);
    });
    if (next == waiting_.end()) return {};
    RunningPart running{*next, {}, Clock::now(), Clock::now()};
    waiting_.erase(next);
    FATUNE_TRY(running.child,
               Child::start(options_.command(running.part.part, result_.members[member].device)));
    running_[member] = std::move(running);
    tell(FleetEvent::Kind::kBegins, member, *running_[member]);
    return {};
  }

  void give_up_without_devices() {
    const auto out = [](const FleetMember& each) { return each.left_out; };
    if (is_running() || !std::ranges::all_of(result_.members, out)) return;
    for (const WaitingPart& each : waiting_)
      result_.failed.push_back({each.part, "no device is left to run it"});
    waiting_.clear();
  }

  const FleetOptions& options_;
  FleetResult result_;
  std::list<WaitingPart> waiting_;                   ///< the first is next
  std::vector<std::optional<RunningPart>> running_;  ///< by member
};

}  // namespace

Result<FleetResult> run_fleet(const FleetOptions& options) { return Fleet(options).run(); }

}  // namespace fatune
