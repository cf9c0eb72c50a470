// same_work.cpp: Times launches on inputs that a candidate has just seen, and on new inputs.
//
// A kernel that remembers earlier launches is slower on new inputs. Turning the sign of a column of
// both q and k leaves every score as it is; turning a column of v turns that column of out. So new
// inputs have known outputs, and an honest kernel does the same work on each of them.
#include <algorithm>
#include <chrono>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include <fmt/format.h>

#include "core/log.hpp"
#include "core/text.hpp"
#include "model/results/physics.hpp"
#include "model/results/statistics.hpp"
#include "worker/gates/gates.hpp"

namespace fatune {
namespace {

// Chosen: a series of launches lasts this long, but has no more than this many. A launch is then
// timed to some 0.1 us.
constexpr double kSeriesUs = 200;
constexpr double kMostLaunches = 8;
// Chosen: pairs of series that show an honest kernel, and pairs that prove another.
constexpr std::size_t kFewPairs = 3;
constexpr std::size_t kManyPairs = 12;
constexpr double kLongWorkUs = 1'000;  // above it one pair of series tells as much
// Chosen: the device is held while the host queues a series, so that launches follow without gaps.
// A host queues a launch in some 2 us, a busy one in up to 50 us.
constexpr std::chrono::microseconds kHold{150};
constexpr std::chrono::microseconds kLongHold{3'000};
constexpr int kResamplesOfSeries = 1'000;
// Chosen: a launch on new inputs may take this much longer.
constexpr double kMostLonger = 1.10;
constexpr double kMostLongerUs = 0.5;
// Chosen: a launch between other kernels may take this much longer than one behind its own copies,
// beside the time for the tensors to come from memory. Copies may begin early and at other clocks.
constexpr double kMostLongerApart = 1.5;
constexpr double kMostLongerApartUs = 3;
constexpr double kLeastUs = 0.1;  // less is the noise of a difference

Failure other_work(const std::string& why) { return refused(GateId::kSameWork, why); }

void turn(ColumnSigns& signs, const ColumnSigns& by) {
  for (std::size_t i = 0; i < signs.size(); ++i) signs[i] ^= by[i];
}

/// Times of one launch, without the passes between launches.
std::vector<double> each_of(const std::vector<double>& series_us, double passes_us, int launches) {
  std::vector<double> each;
  for (const double us : series_us)
    each.push_back(std::max(kLeastUs, (us - passes_us) / static_cast<double>(launches)));
  return each;
}

bool is_longer(double us, double than_us, double factor, double by_us) {
  return us > factor * than_us && us - than_us > by_us;
}

/// Launches in a row, each behind a pass over inputs and outputs. The pass changes them, or reads
/// and writes as much.
struct Series {
  const HotLoop* loop = nullptr;  ///< replayed before it, where launches follow
  int launches = 1;
  bool fresh = false;  ///< the passes turn signs and poison the outputs
  bool empty = false;  ///< the passes alone
  bool alone = false;  ///< the last launch is timed, without the pass before it
  std::chrono::microseconds hold = kHold;
};

/// Times of a launch in each pair of series, in microseconds.
struct PairTimes {
  std::vector<double> seen, fresh;
};

bool is_other(const PairTimes& each) {
  return is_longer(median(each.fresh), median(each.seen), kMostLonger, kMostLongerUs);
}

bool is_surely_other(const PairTimes& each) {
  return is_other(each) &&
         bootstrap_ratio(each.fresh, each.seen, kResamplesOfSeries, 0).low > kMostLonger;
}

void log_times(const PairTimes& each, const char* how) {
  log::debug(fmt::format("{}: {} on seen inputs, {} on others{}", name(GateId::kSameWork),
                         describe(Micros(median(each.seen))), describe(Micros(median(each.fresh))),
                         how));
}

/// The time for the tensors of a launch to come from memory, or to go there, at its full rate.
/// Infinite if the device does not tell that rate.
double memory_us(const GateContext& context) {
  const PeakRates peak =
      peak_rates(context.problem.problem(), environment_of(context.session.facts));
  if (!peak.unknown.empty()) return std::numeric_limits<double>::infinity();
  double bytes = 0;
  for (const GuardedBuffer* buffer :
       pointers_to({context.problem.sets().front().inputs, context.problem.outputs()}))
    bytes += static_cast<double>(buffer->bytes());
  return bytes / peak.memory_bytes;
}

/// Queues a pass over the tensors of the first set.
Status alter(GateContext& context, const Alteration& scores, const Alteration& values) {
  DeviceProblem& problem = context.problem;
  DeviceChecks& checks = problem.checks();
  const TensorAddresses at = problem.addresses(problem.sets().front());
  for (const TensorPlan& input : problem.inputs()) {
    if (input.axes.empty()) continue;  // factors of fp8, which have no columns of q, k or v
    const ColumnSigns& signs = input.name == "v" ? values.negative : scores.negative;
    FATUNE_TRY_STATUS(checks.alter(input, at.at(input.name), {signs, false}));
  }
  for (std::size_t i = 0; i < problem.outputs().size(); ++i) {
    const TensorPlan& output = problem.output(i);
    const Alteration change = i == 0 ? values : Alteration{{}, values.poisoned};
    FATUNE_TRY_STATUS(checks.alter(output, at.at(output.name), change));
  }
  return {};
}

/// The inputs are those of the first set again, and so must be the output: in value, not to the
/// bit, because a sum of zero keeps its sign.
MaybeFailure check_output(GateContext& context, const std::string& when) {
  InputSet& set = context.problem.sets().front();
  if (auto failure = check_guards(context, set)) return failure;
  if (set.right.contains(context.output_sums)) return std::nullopt;
  if (auto failure = context.fetch_outputs(1)) return failure;
  const Judged judged = context.judge(set, 1);
  if (judged.worst().passed) return std::nullopt;
  return other_work(when + ", " + judged.worst().reason);
}

/// Adds the time of a series.
MaybeFailure time_series(GateContext& context, const Series& series, std::vector<double>& us) {
  static std::mt19937_64 chance{std::random_device{}()};
  Alteration scores, values;  // since the first set's inputs
  const auto pass = [&]() -> Status {
    Alteration more_scores, more_values;
    if (series.fresh) {
      std::ranges::generate(more_scores.negative, std::ref(chance));
      std::ranges::generate(more_values.negative, std::ref(chance));
      more_values.poisoned = true;
      turn(scores.negative, more_scores.negative);
      turn(values.negative, more_values.negative);
    }
    return alter(context, more_scores, more_values);
  };
  const auto passes_and_launches = [&](int count) -> Status {
    for (int i = 0; i < count; ++i) {
      FATUNE_TRY_STATUS(pass());
      if (!series.empty) FATUNE_TRY_STATUS(context.program.queue());
    }
    return {};
  };
  const auto before = [&]() -> Status {
    FATUNE_TRY_STATUS(series.loop != nullptr && !series.empty
                          ? gpu::launch(series.loop->graph, context.session.stream.raw())
                          : context.program.queue());
    FATUNE_TRY_STATUS(context.problem.checks().hold(series.hold));
    if (!series.alone) return {};
    FATUNE_TRY_STATUS(passes_and_launches(series.launches - 1));
    return pass();
  };
  const auto launches = [&]() -> Status {
    return series.alone ? context.program.queue() : passes_and_launches(series.launches);
  };
  const auto time = context.session.sampler->time_behind(before, launches);
  if (auto failure = context.unfinished(time)) return failure;
  us.push_back((*time)->value);
  if (series.fresh) {
    if (auto failure = context.failed(alter(context, scores, values))) return failure;
  }
  if (series.empty) return std::nullopt;
  return check_output(context,
                      series.fresh ? "on inputs that it has not seen" : "between other kernels");
}

/// Times series in turn: passes alone, launches on seen inputs, launches on new inputs.
MaybeFailure time_pairs(GateContext& context, Series series, std::size_t pairs, PairTimes& each) {
  std::vector<double> passes, seen, fresh;  // of series
  while (seen.size() < pairs) {
    for (const auto& [empty, unseen, times] :
         {std::tuple(true, false, &passes), {false, false, &seen}, {false, true, &fresh}}) {
      series.empty = empty;
      series.fresh = unseen;
      if (auto failure = time_series(context, series, *times)) return failure;
    }
  }
  each.seen = each_of(seen, median(passes), series.launches);
  each.fresh = each_of(fresh, median(passes), series.launches);
  return std::nullopt;
}

/// Times the last launch of a series between two events of its own, so that the passes do not
/// count. Passes among launches take longer than passes alone if they evict each other's lines from
/// the cache. Passes that change their tensors may take longer than passes that do not.
MaybeFailure time_alone(GateContext& context, Series series, PairTimes& each) {
  series.empty = false;
  series.alone = true;
  while (each.fresh.size() < kManyPairs) {
    for (const auto& [unseen, times] : {std::pair(false, &each.seen), {true, &each.fresh}}) {
      series.fresh = unseen;
      if (auto failure = time_series(context, series, *times)) return failure;
    }
  }
  return std::nullopt;
}

/// Takes few pairs if their times are near each other. Else it takes many, held longer so that a
/// late host leaves no gap, and asks the interval. A difference must then show in time_alone(),
/// too.
MaybeFailure compare_series(GateContext& context, Series series) {
  const TimedRun& run = context.timed;
  const bool is_long = run.hot.value_or(run.cold.value_or(Micros(0))).value > kLongWorkUs;
  const double usual_us = run.hot.value_or(Micros(std::numeric_limits<double>::infinity())).value;
  const double apart_us = kMostLongerApartUs + memory_us(context);
  const auto is_apart = [&](const PairTimes& each) {
    return is_longer(median(each.seen), usual_us, kMostLongerApart, apart_us);
  };
  PairTimes each, alone;
  if (auto failure = time_pairs(context, series, is_long ? 1 : kFewPairs, each)) return failure;
  if (is_other(each) || is_apart(each)) {
    series.hold = kLongHold;
    if (auto failure = time_pairs(context, series, kManyPairs, each)) return failure;
  }
  log_times(each, "");
  const bool other = is_surely_other(each), apart = is_apart(each);
  if (!other && !apart) return std::nullopt;
  if (auto failure = time_alone(context, series, alone)) return failure;
  log_times(alone, ", timed alone");
  const std::string seen = describe(Micros(median(alone.seen)));
  if (other && is_surely_other(alone)) {
    return other_work(fmt::format(
        "a launch on inputs that it has not seen takes {}, on those of the launch before {}",
        describe(Micros(median(alone.fresh))), seen));
  }
  if (!apart || !is_apart(alone)) return std::nullopt;
  return other_work(fmt::format("a launch behind its own copies takes {}, behind another kernel {}",
                                describe(Micros(usual_us)), seen));
}

}  // namespace

GateReport check_same_work(GateContext& context) {
  DeviceProblem& problem = context.problem;
  if (!context.program.is_template()) return GateReport::not_asked();
  if (problem.problem().attention() == nullptr)
    return GateReport::not_run("other inputs with a known output are those of attention");
  const TensorAddresses tensors = problem.addresses(problem.sets().front());
  if (auto failure = context.failed(context.program.bind(tensors))) return failure;
  // The first launches of a kernel load it.
  if (auto failure = context.failed(alter(context, {}, {}))) return failure;
  const TimedRun& run = context.timed;
  const double each = run.hot.value_or(run.cold.value_or(Micros(kSeriesUs))).value;
  Series series;
  series.loop = run.loop;
  series.launches =
      static_cast<int>(std::clamp(kSeriesUs / std::max(each, kLeastUs), 1.0, kMostLaunches));
  return compare_series(context, series);
}

}  // namespace fatune
