// search_loop.cpp - a window of candidates in flight between a strategy and an evaluator.
#include "tune/search_loop.hpp"

#include <algorithm>

#include "base/interrupt.hpp"

namespace fatune {
namespace {

/// What the strategy hears; a duplicate costs what the first candidate with its machine code costs.
std::optional<double> cost_of(const CandidateRecord& record,
                              const std::vector<CandidateRecord>& earlier,
                              const std::string& objective) {
  if (record.outcome == Outcome::kDuplicate) {
    const auto original =
        std::find_if(earlier.begin(), earlier.end(), [&](const CandidateRecord& other) {
          return other.id == record.duplicate_of && other.outcome != Outcome::kDuplicate;
        });
    return original == earlier.end() ? std::nullopt : cost_of(*original, earlier, objective);
  }
  const auto& timing = objective_timing(record, objective);
  const bool timed = record.outcome == Outcome::kMeasured || record.outcome == Outcome::kPruned;
  if (!timed || !timing) return std::nullopt;
  return timing->median_us;
}

}  // namespace

SearchLoop::SearchLoop(RunState& run, ProblemResult& result, const Space& space, Strategy& strategy)
    : run_(run),
      result_(result),
      space_(space),
      strategy_(strategy),
      capacity_(std::max<std::size_t>(1, run.evaluator.capacity())) {}

Result<std::uint64_t> SearchLoop::run(const Share& share) {
  for (;;) {
    run_.interrupted = run_.interrupted || interrupted();
    if (!run_.interrupted) FATUNE_TRY_STATUS(fill(share));
    if (window_.empty()) return asked_;
    if (run_.interrupted && !worth_waiting()) return asked_;
    auto settled = settle_oldest();
    if (settled) continue;
    run_.interrupted = settled.error().kind == ErrorKind::kInterrupted;
    if (!run_.interrupted) return std::move(settled).error();
    return asked_;
  }
}

Status SearchLoop::fill(const Share& share) {
  while (window_.size() < capacity_ && asked_ < share.evaluations && !exhausted_ &&
         run_.clock.now() < share.deadline_s) {
    const std::vector<Point> points = strategy_.ask(1);
    exhausted_ = points.empty();
    for (const Point& point : points) {
      const Candidate candidate = space_.candidate(point);
      Slot slot{point, candidate_key(candidate), run_.known.find(candidate)};
      if (!slot.known) {
        FATUNE_TRY_STATUS(run_.begin(space_.problem()));
        run_.clock.go_live();
        FATUNE_TRY_STATUS(run_.evaluator.submit(candidate));
      }
      window_.push_back(std::move(slot));
      ++asked_;
    }
  }
  return {};
}

Status SearchLoop::settle_oldest() {
  Slot slot = std::move(window_.front());
  window_.pop_front();
  if (slot.known) {
    run_.clock.replay(slot.known->at_s);
    if (!run_.known.is_journalled(slot.key)) FATUNE_TRY_STATUS(run_.journal.append(*slot.known));
    tell(slot.point, *slot.known);
    return {};
  }
  FATUNE_TRY(CandidateRecord record, run_.evaluator.collect());
  FATUNE_CHECK(record.key == slot.key, "records come in the order of submission");
  record.at_s = run_.clock.now();
  FATUNE_TRY_STATUS(run_.journal.append(record));
  tell(slot.point, record);
  return {};
}

void SearchLoop::tell(const Point& point, const CandidateRecord& record) {
  const auto cost = cost_of(record, result_.candidates, run_.objective);
  strategy_.tell({point, cost, record.outcome == Outcome::kDuplicate});
  ++result_.outcomes[record.outcome];
  result_.gpu_waited_s += record.spent.gpu_wait_s;
  result_.candidates.push_back(record);
  run_.progress.candidate_done(record, cost, run_.clock.now());
}

bool SearchLoop::worth_waiting() const {
  if (window_.front().known) return true;
  return std::any_of(window_.begin(), window_.end(),
                     [&](const Slot& slot) { return run_.started.contains(slot.key); });
}

}  // namespace fatune
