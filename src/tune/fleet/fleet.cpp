// fleet.cpp: Assigns parts to executors as they become free, and handles failures and losses.
#include "tune/fleet/fleet.hpp"

#include <algorithm>
#include <chrono>
#include <list>
#include <numeric>
#include <thread>
#include <utility>

#include "core/interrupt.hpp"

namespace fatune {
namespace {

constexpr std::chrono::milliseconds kGlance{20};
constexpr double kReportEvery_s = 10;
constexpr std::size_t kMostFailures = 2;        // per part; chosen
constexpr std::size_t kMostLosses = 3;          // per part, which may itself crash hosts; chosen
constexpr std::size_t kMostFailuresInARow = 2;  // per executor; chosen

constexpr auto kNoMember = static_cast<std::size_t>(-1);

struct WaitingPart {
  std::size_t part = 0;
  std::size_t failures = 0, losses = 0;
  std::size_t failed_on = kNoMember;
  std::size_t left = kNoMember;  ///< last member on which the part failed or was lost
};

struct RunningPart {
  WaitingPart part;
  double begin_s = 0, reported_s = 0;
};

class Fleet {
 public:
  Fleet(const FleetOptions& options, ExecutorPool& pool)
      : options_(options), pool_(pool), clock_(pool.clock) {
    std::vector<std::size_t> order(options.costs.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, std::ranges::greater(),
                             [&](std::size_t part) { return options.costs[part]; });
    for (const std::size_t part : order) waiting_.push_back({.part = part});
  }

  Result<FleetResult> run() {
    begin_s_ = clock_.now_s();
    while (!waiting_.empty() || running_count_ > 0) {
      if (interrupted()) return Error(ErrorKind::kInterrupted, "interrupted");
      FATUNE_TRY_STATUS(pool_.pump());
      add_new_executors();
      for (std::size_t member = 0; member < running_.size(); ++member) {
        FATUNE_TRY_STATUS(look_at(member));
        if (pool_.ready()) FATUNE_TRY_STATUS(give_work(member));
      }
      give_up_without_executors();
      clock_.pause();
    }
    result_.seconds = clock_.now_s() - begin_s_;
    return std::move(result_);
  }

 private:
  void add_new_executors() {
    while (result_.members.size() < pool_.executors.size()) {
      const FleetExecutor& executor = *pool_.executors[result_.members.size()];
      result_.members.push_back({.name = executor.name()});
      running_.emplace_back();
    }
  }

  void tell(FleetEvent::Kind kind, std::size_t member, const RunningPart& running,
            std::string said = {}) {
    options_.on_event({kind, running.part.part, &result_.members[member],
                       clock_.now_s() - running.begin_s, std::move(said)});
  }

  /// Reports progress of a running part, and records the outcome of a part that has ended.
  Status look_at(std::size_t member) {
    std::optional<RunningPart>& running = running_[member];
    if (!running) return {};
    FATUNE_TRY(const PartReport report, pool_.executors[member]->look());
    if (report.state == PartReport::State::kRuns) {
      if (clock_.now_s() - running->reported_s < kReportEvery_s) return {};
      running->reported_s = clock_.now_s();
      tell(FleetEvent::Kind::kRuns, member, *running, pool_.executors[member]->said());
      return {};
    }
    FleetMember& executor = result_.members[member];
    executor.work.push_back({running->part.part, running->begin_s - begin_s_,
                             clock_.now_s() - begin_s_, report.state == PartReport::State::kEnded});
    if (report.state == PartReport::State::kEnded) {
      ++executor.parts;
      executor.failures.clear();
      executor.left_out = false;
      tell(FleetEvent::Kind::kEnds, member, *running);
      if (options_.take)
        FATUNE_TRY_STATUS(options_.take(running->part.part, *pool_.executors[member]));
    } else {
      note_failure(member, *running, report);
    }
    running.reset();
    --running_count_;
    return {};
  }

  void note_failure(std::size_t member, const RunningPart& running, const PartReport& report) {
    WaitingPart part = running.part;
    part.left = member;
    if (report.state == PartReport::State::kLost) {
      ++part.losses;
    } else {
      note_suspect(member, part);
      part.failed_on = member;
      ++part.failures;
    }
    tell(FleetEvent::Kind::kFails, member, running, report.reason);
    if (part.failures < kMostFailures && part.losses < kMostLosses) {
      waiting_.push_back(part);
    } else {
      result_.failed.push_back({part.part, report.reason});
    }
    if (result_.members[member].left_out) bring_forward(result_.members[member].failures);
  }

  /// Suspects the executor, unless the part has failed on another executor before.
  void note_suspect(std::size_t member, const WaitingPart& part) {
    if (part.failed_on == kNoMember || part.failed_on == member) {
      result_.members[member].failures.insert(part.part);
    } else {
      for (FleetMember& each : result_.members) each.failures.erase(part.part);
    }
    for (FleetMember& each : result_.members)
      each.left_out = each.failures.size() >= kMostFailuresInARow;
  }

  /// Moves the suspect parts of a left-out executor to the front, as retries may clear it.
  void bring_forward(const std::set<std::size_t>& parts) {
    std::list<WaitingPart> others;
    for (auto each = waiting_.begin(); each != waiting_.end();) {
      const auto here = each++;
      if (!parts.contains(here->part)) others.splice(others.end(), waiting_, here);
    }
    waiting_.splice(waiting_.end(), others);
  }

  bool can_take(std::size_t member) const {
    return !result_.members[member].left_out && pool_.executors[member]->able();
  }

  /// Whether a left-out executor may try a part that failed on another one, to find the culprit.
  bool can_try(std::size_t member, const WaitingPart& part) const {
    return result_.members[member].left_out && part.failed_on != kNoMember &&
           part.failed_on != member && pool_.executors[member]->able() && !has_another(kNoMember);
  }

  /// Whether an executor other than `member`, which may be kNoMember, can take a part.
  bool has_another(std::size_t member) const {
    for (std::size_t other = 0; other < running_.size(); ++other) {
      if (other != member && can_take(other)) return true;
    }
    return false;
  }

  /// Whether an executor without recent failures can retry the part.
  bool has_sound_executor(const WaitingPart& part) const {
    for (std::size_t other = 0; other < running_.size(); ++other) {
      if (other != part.left && can_take(other) && result_.members[other].failures.empty())
        return true;
    }
    return false;
  }

  bool wants(std::size_t member, const WaitingPart& part) const {
    if (can_try(member, part)) return true;
    if (!can_take(member)) return false;
    if (part.left == member) return !has_another(member);
    return part.failures == 0 || result_.members[member].failures.empty() ||
           !has_sound_executor(part);
  }

  Status give_work(std::size_t member) {
    if (running_[member]) return {};
    const auto next = std::ranges::find_if(
        waiting_, [&](const WaitingPart& each) { return wants(member, each); });
    if (next == waiting_.end()) return {};
    const RunningPart running{*next, clock_.now_s(), clock_.now_s()};
    waiting_.erase(next);
    FATUNE_TRY_STATUS(pool_.executors[member]->begin(running.part.part));
    running_[member] = running;
    ++running_count_;
    tell(FleetEvent::Kind::kBegins, member, running);
    return {};
  }

  /// Whether a left-out executor may still try the part.
  bool is_to_be_tried(const WaitingPart& part) const {
    for (std::size_t member = 0; member < running_.size(); ++member) {
      if (can_try(member, part)) return true;
    }
    return false;
  }

  void give_up_without_executors() {
    if (running_count_ > 0 || pool_.expects_more()) return;
    const auto tried = [this](const WaitingPart& part) { return is_to_be_tried(part); };
    if (std::ranges::any_of(waiting_, tried)) return;
    if (has_another(kNoMember)) return;
    for (const WaitingPart& each : waiting_)
      result_.failed.push_back({each.part, "no device is left to run it"});
    waiting_.clear();
  }

  const FleetOptions& options_;
  ExecutorPool& pool_;
  FleetClock& clock_;
  FleetResult result_;
  std::list<WaitingPart> waiting_;                   ///< the first is next
  std::vector<std::optional<RunningPart>> running_;  ///< by member
  std::size_t running_count_ = 0;
  double begin_s_ = 0;
};

}  // namespace

double FleetClock::now_s() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void FleetClock::pause() { std::this_thread::sleep_for(kGlance); }

Result<FleetResult> run_fleet(const FleetOptions& options, ExecutorPool& pool) {
  return Fleet(options, pool).run();
}

}  // namespace fatune
