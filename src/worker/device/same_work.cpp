// same_work.cpp - launches on inputs that a candidate has just seen, and on others that it has
// not: the same time, or a memory of what it did before.
//
// Turning the sign of a column of both q and k leaves every product of a score as it is; turning
// that of a column of v turns it in out. So there are more right inputs than anyone has seen, their
// outputs are known from the verified one, and honest kernels do the same work on each.
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
#include "worker/device/gates.hpp"

namespace fatune {
namespace {

// Chosen: a series of launches lasts so long, but has at most so many; a launch is then timed to
// some 0.1 us.
constexpr double kSeriesUs = 200;
constexpr double kMostLaunches = 8;
// Chosen: pairs of series that tell an honest kernel, and those that tell another.
constexpr std::size_t kFewPairs = 3;
constexpr std::size_t kManyPairs = 12;
constexpr double kLongWorkUs = 1'000;  // of a launch: one pair tells as much
// Chosen: what is queued meanwhile follows without gaps, 64 launches of which a host queues one in
// some 2 us; where times differ, also those of a busy host, which may need 50 for one.
constexpr std::chrono::microseconds kHold{150};
constexpr std::chrono::microseconds kLongHold{3'000};
constexpr int kResamplesOfSeries = 1'000;
// Chosen: what unseen inputs may take longer.
constexpr double kMostLonger = 1.10;
constexpr double kMostLongerUs = 0.5;
// Chosen: what a launch between others' may take longer than one behind its own copies, which may
// begin a little early and run at other clocks, beside what it finds in no cache.
constexpr double kMostLongerApart = 1.5;
constexpr double kMostLongerApartUs = 3;
constexpr double kLeastUs = 0.1;  // what is less is the noise of a difference

Failure other_work(const std::string& why) {
  return {Outcome::kWrongResult, std::string(kSameWorkGate) + ": " + why, false};
}

void turn(ColumnSigns& signs, const ColumnSigns& by) {
  for (std::size_t i = 0; i < signs.size(); ++i) signs[i] ^= by[i];
}

/// Of one launch, without the passes between launches.
std::vector<double> each_of(const std::vector<double>& series_us, double passes_us, int launches) {
  std::vector<double> each;
  for (const double us : series_us)
    each.push_back(std::max(kLeastUs, (us - passes_us) / static_cast<double>(launches)));
  return each;
}

bool is_longer(double us, double than_us, double factor, double by_us) {
  return us > factor * than_us && us - than_us > by_us;
}

}  // namespace

/// Launches in a row, each behind a pass over inputs and outputs that changes them, or reads and
/// writes as much.
struct GateKeeper::Series {
  const HotLoop* loop = nullptr;  ///< replayed before it, where launches follow
  int launches = 1;
  bool fresh = false;  ///< the passes turn signs and poison the outputs
  bool empty = false;  ///< the passes alone
  bool alone = false;  ///< the last launch is timed, without the pass before it
  std::chrono::microseconds hold = kHold;
};

/// Of a launch in each pair of series, in microseconds.
struct GateKeeper::PairTimes {
  std::vector<double> seen, fresh;
};

/// A pass over the tensors of the first set.
Status GateKeeper::alter(const Alteration& scores, const Alteration& values) {
  DeviceChecks& checks = problem_.checks();
  const TensorAddresses at = problem_.addresses(problem_.sets().front());
  for (const TensorPlan& input : problem_.inputs()) {
    if (input.axes.empty()) continue;  // factors of fp8, which have no columns of q, k or v
    const ColumnSigns& signs = input.name == "v" ? values.negative : scores.negative;
    FATUNE_TRY_STATUS(checks.alter(input, at.at(input.name), {signs, false}));
  }
  for (std::size_t i = 0; i < problem_.outputs().size(); ++i) {
    const TensorPlan& output = problem_.output(i);
    const Alteration change = i == 0 ? values : Alteration{{}, values.poisoned};
    FATUNE_TRY_STATUS(checks.alter(output, at.at(output.name), change));
  }
  return {};
}

/// Inputs are those of the first set again: so must be the output, in value where not to the bit (a
/// sum of zero keeps its sign).
MaybeFailure GateKeeper::expect_right(const std::string& when) {
  InputSet& set = problem_.sets().front();
  if (auto failure = look_around(set)) return failure;
  if (verified_.front() == output_sums_) return std::nullopt;
  if (auto failure = to_host(1)) return failure;
  const Judged judged = judge(set, 1);
  if (judged.worst().passed) return std::nullopt;
  return other_work(when + ", " + judged.worst().reason);
}

MaybeFailure GateKeeper::time_series(const Series& series, std::vector<double>& us) {
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
    return alter(more_scores, more_values);
  };
  const auto passes_and_launches = [&](int count) -> Status {
    for (int i = 0; i < count; ++i) {
      FATUNE_TRY_STATUS(pass());
      if (!series.empty) FATUNE_TRY_STATUS(program_.queue());
    }
    return {};
  };
  const auto before = [&]() -> Status {
    FATUNE_TRY_STATUS(series.loop != nullptr && !series.empty
                          ? gpu::launch(series.loop->graph, session_.stream.raw())
                          : program_.queue());
    FATUNE_TRY_STATUS(problem_.checks().hold(series.hold));
    if (!series.alone) return {};
    FATUNE_TRY_STATUS(passes_and_launches(series.launches - 1));
    return pass();
  };
  const auto launches = [&]() -> Status {
    return series.alone ? program_.queue() : passes_and_launches(series.launches);
  };
  const auto time = session_.sampler->time_behind(before, launches);
  if (auto failure = unfinished(time)) return failure;
  us.push_back((*time)->value);
  if (series.fresh) {
    if (auto failure = failed(alter(scores, values))) return failure;
  }
  if (series.empty) return std::nullopt;
  return expect_right(series.fresh ? "on inputs that it has not seen" : "between other kernels");
}

MaybeFailure GateKeeper::time_pairs(Series series, std::size_t pairs, PairTimes& each) {
  std::vector<double> passes, seen, fresh;  // of series
  while (seen.size() < pairs) {
    for (const auto& [empty, unseen, times] :
         {std::tuple(true, false, &passes), {false, false, &seen}, {false, true, &fresh}}) {
      series.empty = empty;
      series.fresh = unseen;
      if (auto failure = time_series(series, *times)) return failure;
    }
  }
  each.seen = each_of(seen, median(passes), series.launches);
  each.fresh = each_of(fresh, median(passes), series.launches);
  return std::nullopt;
}

/// Of the last launch of a series, between two events of its own: how long passes take is not in
/// it. One in a series takes longer than one among passes where it and the launches put each
/// other's lines out of the cache, and one that changes what it passes may take longer than
/// another.
MaybeFailure GateKeeper::time_alone(Series series, PairTimes& each) {
  series.empty = false;
  series.alone = true;
  while (each.fresh.size() < kManyPairs) {
    for (const auto& [unseen, times] : {std::pair(false, &each.seen), {true, &each.fresh}}) {
      series.fresh = unseen;
      if (auto failure = time_series(series, *times)) return failure;
    }
  }
  return std::nullopt;
}

/// Few pairs where the times are near each other; else many, of which the interval is asked, and
/// which no gap can be in because the host was late. What then differs is timed alone.
MaybeFailure GateKeeper::compare_series(const TimedRun& run, Series series) {
  const bool is_long = run.hot.value_or(run.cold.value_or(Micros(0))).value > kLongWorkUs;
  const double usual_us = run.hot.value_or(Micros(std::numeric_limits<double>::infinity())).value;
  const double apart_us = kMostLongerApartUs + memory_us();
  const auto is_other = [](const PairTimes& each) {
    return is_longer(median(each.fresh), median(each.seen), kMostLonger, kMostLongerUs);
  };
  const auto is_surely_other = [&](const PairTimes& each) {
    return is_other(each) &&
           bootstrap_ratio(each.fresh, each.seen, kResamplesOfSeries, 0).low > kMostLonger;
  };
  const auto is_apart = [&](const PairTimes& each) {
    return is_longer(median(each.seen), usual_us, kMostLongerApart, apart_us);
  };
  const auto note = [](const PairTimes& each, const char* how) {
    log::debug(fmt::format("{}: {} on seen inputs, {} on others{}", kSameWorkGate,
                           describe(Micros(median(each.seen))),
                           describe(Micros(median(each.fresh))), how));
  };
  PairTimes each, alone;
  if (auto failure = time_pairs(series, is_long ? 1 : kFewPairs, each)) return failure;
  if (is_other(each) || is_apart(each)) {
    series.hold = kLongHold;
    if (auto failure = time_pairs(series, kManyPairs, each)) return failure;
  }
  note(each, "");
  const bool other = is_surely_other(each), apart = is_apart(each);
  if (!other && !apart) return std::nullopt;
  if (auto failure = time_alone(series, alone)) return failure;
  note(alone, ", timed alone");
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

/// That the tensors of a launch take to come from memory, or to go there, at its full rate;
/// infinite where the device does not tell that.
double GateKeeper::memory_us() const {
  const PeakRates peak = peak_rates(problem_.problem(), environment_of(session_.facts));
  if (!peak.unknown.empty()) return std::numeric_limits<double>::infinity();
  double bytes = 0;
  for (const GuardedBuffer* buffer :
       pointers_to({problem_.sets().front().inputs, problem_.outputs()}))
    bytes += static_cast<double>(buffer->bytes());
  return bytes / peak.memory_bytes;
}

MaybeFailure GateKeeper::check_same_work(const TimedRun& run) {
  if (!program_.is_template()) return std::nullopt;
  if (problem_.problem().custom) {
    verification_.not_run.push_back(std::string(kSameWorkGate) +
                                    ": other inputs with a known output are those of attention");
    return std::nullopt;
  }
  if (auto failure = failed(program_.bind(problem_.addresses(problem_.sets().front()))))
    return failure;
  // The first launches of a kernel load it.
  if (auto failure = failed(alter({}, {}))) return failure;
  Series series;
  series.loop = run.loop;
  const double each = run.hot.value_or(run.cold.value_or(Micros(kSeriesUs))).value;
  series.launches =
      static_cast<int>(std::clamp(kSeriesUs / std::max(each, kLeastUs), 1.0, kMostLaunches));
  if (auto failure = compare_series(run, series)) return failure;
  verification_.gates.push_back(kSameWorkGate);
  return std::nullopt;
}

}  // namespace fatune
