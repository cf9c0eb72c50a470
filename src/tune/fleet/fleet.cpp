// fleet.cpp - deals parts to hands as they become free, and watches what becomes of them.
#include "tune/fleet/fleet.hpp"

#include <algorithm>
#include <chrono>
#include <list>
#include <numeric>
#include <optional>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "core/interrupt.hpp"
#include "core/text.hpp"

namespace fatune {
namespace {

constexpr std::chrono::milliseconds kGlance{20};
constexpr double kReportEvery_s = 10;
constexpr std::size_t kMostFailures = 2;        // of a part
constexpr std::size_t kMostLosses = 3;          // of a part: it may be what ends its hosts
constexpr std::size_t kMostFailuresInARow = 2;  // of a hand

constexpr auto kNobody = static_cast<std::size_t>(-1);  // of the members

struct WaitingPart {
  std::size_t part = 0;
  std::size_t failures = 0, losses = 0;
  std::size_t failed_on = kNobody;
  std::size_t left = kNobody;  ///< the last that it failed on, or was lost with
};

struct RunningPart {
  WaitingPart part;
  double begin_s = 0, reported_s = 0;
};

class Fleet {
 public:
  Fleet(const FleetOptions& options, FleetCrew& crew)
      : options_(options), crew_(crew), clock_(crew.clock) {
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
      FATUNE_TRY_STATUS(crew_.pump());
      take_note_of_new_hands();
      for (std::size_t member = 0; member < running_.size(); ++member) {
        FATUNE_TRY_STATUS(look_at(member));
        if (crew_.ready()) FATUNE_TRY_STATUS(give_work(member));
      }
      give_up_without_hands();
      clock_.pause();
    }
    result_.seconds = clock_.now_s() - begin_s_;
    return std::move(result_);
  }

 private:
  void take_note_of_new_hands() {
    while (result_.members.size() < crew_.hands.size()) {
      const FleetHand& hand = *crew_.hands[result_.members.size()];
      result_.members.push_back({.name = hand.name()});
      running_.emplace_back();
    }
  }

  void tell(FleetEvent::Kind kind, std::size_t member, const RunningPart& running,
            std::string said = {}) {
    options_.on_event({kind, running.part.part, &result_.members[member],
                       clock_.now_s() - running.begin_s, std::move(said)});
  }

  /// Takes note of a part that is no longer running.
  Status look_at(std::size_t member) {
    std::optional<RunningPart>& running = running_[member];
    if (!running) return {};
    FATUNE_TRY(const HandReport report, crew_.hands[member]->look());
    if (report.state == HandReport::State::kRuns) {
      if (clock_.now_s() - running->reported_s < kReportEvery_s) return {};
      running->reported_s = clock_.now_s();
      tell(FleetEvent::Kind::kRuns, member, *running, crew_.hands[member]->said());
      return {};
    }
    FleetMember& hand = result_.members[member];
    hand.work.push_back({running->part.part, running->begin_s - begin_s_, clock_.now_s() - begin_s_,
                         report.state == HandReport::State::kEnded});
    if (report.state == HandReport::State::kEnded) {
      ++hand.parts;
      hand.failures.clear();
      hand.left_out = false;
      tell(FleetEvent::Kind::kEnds, member, *running);
      if (options_.take) FATUNE_TRY_STATUS(options_.take(running->part.part, *crew_.hands[member]));
    } else {
      note_failure(member, *running, report);
    }
    running.reset();
    --running_count_;
    return {};
  }

  void note_failure(std::size_t member, const RunningPart& running, const HandReport& report) {
    WaitingPart part = running.part;
    part.left = member;
    if (report.state == HandReport::State::kLost) {
      ++part.losses;
    } else {
      hold_to_account(member, part);
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

  /// The hand, or the part that has failed on another hand before.
  void hold_to_account(std::size_t member, const WaitingPart& part) {
    if (part.failed_on == kNobody || part.failed_on == member) {
      result_.members[member].failures.insert(part.part);
    } else {
      for (FleetMember& each : result_.members) each.failures.erase(part.part);
    }
    for (FleetMember& each : result_.members)
      each.left_out = each.failures.size() >= kMostFailuresInARow;
  }

  /// What a hand is left out for: the sooner others try it, the sooner it may be back.
  void bring_forward(const std::set<std::size_t>& parts) {
    std::list<WaitingPart> others;
    for (auto each = waiting_.begin(); each != waiting_.end();) {
      const auto here = each++;
      if (!parts.contains(here->part)) others.splice(others.end(), waiting_, here);
    }
    waiting_.splice(waiting_.end(), others);
  }

  bool can_take(std::size_t member) const {
    return !result_.members[member].left_out && crew_.hands[member]->able();
  }

  /// It is left out, and the part failed on another; what becomes of it here shows whose fault that
  /// was.
  bool can_try(std::size_t member, const WaitingPart& part) const {
    return result_.members[member].left_out && part.failed_on != kNobody &&
           part.failed_on != member && crew_.hands[member]->able() && !has_another(kNobody);
  }

  /// Than `member`, which may be kNobody.
  bool has_another(std::size_t member) const {
    for (std::size_t other = 0; other < running_.size(); ++other) {
      if (other != member && can_take(other)) return true;
    }
    return false;
  }

  /// Whose last part did not fail: a broken hand is no judge of what failed on another.
  bool has_better_judge(const WaitingPart& part) const {
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
           !has_better_judge(part);
  }

  Status give_work(std::size_t member) {
    if (running_[member]) return {};
    const auto next = std::ranges::find_if(
        waiting_, [&](const WaitingPart& each) { return wants(member, each); });
    if (next == waiting_.end()) return {};
    const RunningPart running{*next, clock_.now_s(), clock_.now_s()};
    waiting_.erase(next);
    FATUNE_TRY_STATUS(crew_.hands[member]->begin(running.part.part));
    running_[member] = running;
    ++running_count_;
    tell(FleetEvent::Kind::kBegins, member, running);
    return {};
  }

  /// That hands which are left out may yet try.
  bool is_to_be_tried(const WaitingPart& part) const {
    for (std::size_t member = 0; member < running_.size(); ++member) {
      if (can_try(member, part)) return true;
    }
    return false;
  }

  void give_up_without_hands() {
    if (running_count_ > 0 || crew_.expects_more()) return;
    const auto tried = [this](const WaitingPart& part) { return is_to_be_tried(part); };
    if (std::ranges::any_of(waiting_, tried)) return;
    if (has_another(kNobody)) return;
    for (const WaitingPart& each : waiting_)
      result_.failed.push_back({each.part, "no device is left to run it"});
    waiting_.clear();
  }

  const FleetOptions& options_;
  FleetCrew& crew_;
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

Result<FleetResult> run_fleet(const FleetOptions& options, FleetCrew& crew) {
  return Fleet(options, crew).run();
}

}  // namespace fatune
