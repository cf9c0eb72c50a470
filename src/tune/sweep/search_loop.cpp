// search_loop.cpp: Keeps candidates in flight between strategies and an evaluator.
#include "tune/sweep/search_loop.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/interrupt.hpp"

namespace fatune {
namespace {

constexpr std::uint64_t kTrialPart = 4;       // one in so many; chosen, see decision 0014
constexpr std::uint64_t kLeastSearched = 60;  // before patience ends a search; see decision 0014

// Relative to the leader's time; chosen among 0.1, 0.2, 0.3 and equal shares on recorded spaces.
constexpr double kBehindForOneEth = 0.1;

double share_of(double best_us, double leading_us) {
  if (!std::isfinite(leading_us)) return 1;
  return std::exp(-(best_us / leading_us - 1) / kBehindForOneEth);
}

/// Returns the cost told to the strategy; a duplicate has the cost of its original.
std::optional<double> cost_of(const CandidateRecord& record,
                              const std::vector<CandidateRecord>& earlier, Time time) {
  if (record.outcome == Outcome::kDuplicate) {
    const auto original = std::ranges::find_if(earlier, [&](const CandidateRecord& other) {
      return other.id == record.duplicate_of && other.outcome != Outcome::kDuplicate;
    });
    if (original != earlier.end()) return cost_of(*original, earlier, time);
  }

  // The original of a duplicate may be journalled and not told yet, so the duplicate's times count.
  const auto& timing = searched_timing(record, time);
  const bool timed = record.outcome == Outcome::kMeasured || record.outcome == Outcome::kPruned ||
                     record.outcome == Outcome::kDuplicate;
  if (!timed || !timing) return std::nullopt;
  return timing->median_us;
}

}  // namespace

std::optional<double> take_result(const CandidateRecord& record, RunState& run,
                                  ProblemResult& result) {
  const auto cost = cost_of(record, result.candidates, search_time(run.plan.objective));
  ++result.outcomes[record.outcome];
  result.gpu_waited_s += record.spent.gpu_wait_s;
  result.candidates.push_back(record);
  run.progress.candidate_done(record, cost, run.clock.now());
  return cost;
}

std::uint64_t sure_evaluations(const RunPlan& plan, std::uint64_t valid) {
  const std::uint64_t budget = plan.budget_evaluations;
  const bool may_end = plan.patience > 0 && valid > budget;
  return may_end ? std::min(budget, kLeastSearched) : budget;
}

Budget::Budget(const RunPlan& plan, const std::vector<std::uint64_t>& sizes, double now_s)
    : sure_(sure_evaluations(plan, std::accumulate(sizes.begin(), sizes.end(), std::uint64_t{0}))),
      patience_(plan.patience) {
  if (plan.budget_evaluations > 0) whole_.evaluations = plan.budget_evaluations;
  if (plan.budget_seconds) whole_.deadline_s = now_s + *plan.budget_seconds;
  const bool several = sizes.size() > 1;
  Share all_trials = whole_;
  if (several && whole_.evaluations != kUnlimited) {
    const std::uint64_t quarter = (sure_ + kTrialPart - 1) / kTrialPart;
    all_trials.evaluations =
        std::min(std::max<std::uint64_t>(quarter, sizes.size()), whole_.evaluations);
  }
  if (several && plan.budget_seconds)
    all_trials.deadline_s = now_s + *plan.budget_seconds / kTrialPart;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    Share trial = all_trials;
    if (all_trials.evaluations != kUnlimited) {
      trial.evaluations = std::min(all_trials.evaluations / (sizes.size() - i), sizes[i]);
      all_trials.evaluations -= trial.evaluations;
    }
    trials_.push_back(trial);
  }
}

std::uint64_t Budget::worth_asking(std::uint64_t fastest) const {
  if (sure_ == 0 || sure_ == whole_.evaluations) return whole_.evaluations;
  return std::min(whole_.evaluations, std::max(sure_, fastest + patience_));
}

std::size_t next_kernel(std::span<const KernelStanding> kernels) {
  double leading_us = std::numeric_limits<double>::infinity();
  for (const KernelStanding& kernel : kernels) {
    if (!kernel.exhausted) leading_us = std::min(leading_us, kernel.best_us);
  }
  std::size_t next = kernels.size();
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    if (kernels[i].exhausted) continue;
    const double turns =
        static_cast<double>(kernels[i].asked + 1) / share_of(kernels[i].best_us, leading_us);
    if (turns >= least) continue;
    least = turns;
    next = i;
  }
  return next;
}

SearchLoop::SearchLoop(RunState& run, ProblemResult& result)
    : run_(run), result_(result), capacity_(std::max<std::size_t>(1, run.evaluator->capacity())) {}

void SearchLoop::add(const Space& space, std::unique_ptr<Strategy> strategy) {
  searches_.push_back({{}, &space, std::move(strategy)});
}

std::uint64_t SearchLoop::asked() const {
  std::uint64_t sum = 0;
  for (const Search& search : searches_) sum += search.asked;
  return sum;
}

bool SearchLoop::stopped() {
  const bool cancelled = run_.options.cancelled && run_.options.cancelled();
  run_.interrupted = run_.interrupted || cancelled || interrupted();
  return run_.interrupted;
}

bool SearchLoop::has_room(std::size_t search) const {
  const Search& asking = searches_.at(search);
  // One candidate in flight is always allowed.
  return window_.size() < capacity_ &&
         asking.in_flight < std::max<std::size_t>(1, asking.strategy->most_in_flight());
}

Status SearchLoop::make_room(std::size_t search) {
  while (!stopped() && !has_room(search)) FATUNE_TRY_STATUS(settle());
  return {};
}

Status SearchLoop::settle_one() { return stopped() ? Status() : settle(); }

Status SearchLoop::ask(std::size_t search) {
  Search& asked = searches_.at(search);
  if (stopped() || asked.exhausted) return {};
  FATUNE_CHECK(has_room(search), "a candidate is asked for when there is room for it");
  const std::vector<Point> points = asked.strategy->ask(1);
  asked.exhausted = points.empty();
  for (const Point& point : points) FATUNE_TRY_STATUS(put_in_flight(search, point));
  return {};
}

Status SearchLoop::put_in_flight(std::size_t search, const Point& point) {
  const Space& space = *searches_[search].space;
  const Candidate candidate = space.candidate(point);
  Slot slot{search, point, candidate_key(candidate), run_.journal.find(candidate)};
  if (!slot.known) {
    FATUNE_TRY_STATUS(run_.begin(space.problem()));
    slot.known = run_.journal.find(candidate);  // the suspect may have been tried again
  }
  if (slot.known) {
    // Journals a twice-started suspect before anything else starts, so that a next attempt knows
    // the crash.
    if (!run_.journal.is_journalled(slot.key)) FATUNE_TRY_STATUS(run_.journal.append(*slot.known));
  } else {
    run_.clock.go_live();
    FATUNE_TRY_STATUS(run_.evaluator->submit(candidate));
    prepare(searches_[search]);
  }
  window_.push_back(std::move(slot));
  ++searches_[search].asked;
  ++searches_[search].in_flight;
  return {};
}

/// Names the candidates that the search is likely to ask next and that are not journalled.
void SearchLoop::prepare(const Search& search) {
  const std::size_t most = run_.evaluator->worth_preparing();
  if (most == 0) return;
  std::vector<Candidate> likely;
  for (const Point& point : search.strategy->likely(most)) {
    Candidate candidate = search.space->candidate(point);
    if (!run_.journal.find(candidate)) likely.push_back(std::move(candidate));
  }
  run_.evaluator->prepare(std::move(likely));
}

Status SearchLoop::finish() {
  run_.evaluator->prepare({});
  while (!window_.empty() && (!stopped() || worth_waiting())) FATUNE_TRY_STATUS(settle());
  return {};
}

Status SearchLoop::settle() {
  const Slot slot = std::move(window_.front());
  window_.pop_front();
  if (slot.known) {
    run_.clock.replay(slot.known->at_s);
    tell(slot, *slot.known);
    return {};
  }
  FATUNE_TRY(CandidateRecord record, run_.evaluator->collect());
  FATUNE_CHECK(record.key == slot.key, "records come in the order of submission");
  const auto early = run_.early.extract(record.key);
  if (early && early.mapped().outcome == record.outcome) {
    record.at_s = early.mapped().at_s;
  } else {
    FATUNE_TRY_STATUS(run_.write(record));
  }
  tell(slot, record);
  return {};
}

void SearchLoop::tell(const Slot& slot, const CandidateRecord& record) {
  Search& search = searches_[slot.search];
  --search.in_flight;
  const auto cost = take_result(record, run_, result_);
  search.strategy->tell({slot.point, cost, record.outcome == Outcome::kDuplicate});
  ++told_;
  if (record.outcome == Outcome::kMeasured && cost) {
    search.best_us = std::min(search.best_us, *cost);
    if (*cost < fastest_us_) fastest_ = told_;
    fastest_us_ = std::min(fastest_us_, *cost);
  }
}

/// Whether the first candidate is journalled, or any candidate has reached the device.
bool SearchLoop::worth_waiting() const {
  if (window_.front().known) return true;
  return std::ranges::any_of(window_,
                             [&](const Slot& slot) { return run_.started.contains(slot.key); });
}

}  // namespace fatune
