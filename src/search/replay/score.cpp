// score.cpp: Runs strategies on recordings and compares their curves with random search.
#include "search/replay/score.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <deque>
#include <functional>
#include <system_error>
#include <thread>

#include <fmt/format.h>
#include <time.h>

#include "core/interrupt.hpp"
#include "model/results/statistics.hpp"
#include "search/strategies/rng.hpp"
#include "search/strategies/strategy.hpp"

namespace fatune {
namespace {

constexpr double kZ95 = 1.959964;  // the 97.5 % point of the normal distribution
constexpr std::size_t kMostResamples = 10'000, kFewestResamples = 1'000;
constexpr std::size_t kMostDraws = 5'000'000;  // chosen: about 0.01 s

constexpr std::uint64_t kResampleSeed = 1;  // seed of the bootstrap; arbitrary
constexpr double kLeastHeadroom = 1e-12;    // relative; below it random search is optimal

using Curves = std::vector<std::vector<double>>;  ///< [repeat][evaluations]

std::vector<double> column(const Curves& curves, std::uint64_t t) {
  std::vector<double> values;
  for (const auto& curve : curves) values.push_back(curve[t]);
  return values;
}

Estimate excess_estimate(const std::vector<double>& costs, const Landscape& landscape) {
  std::vector<double> excess;
  for (const double cost : costs) excess.push_back(landscape.excess(cost));
  const double middle = mean(excess);
  const double half = kZ95 * standard_error(excess);
  return {middle, std::max(0.0, middle - half), middle + half};
}

Estimate share_within(double share, const std::vector<double>& costs, const Landscape& landscape) {
  const auto hits =
      std::ranges::count_if(costs, [&](double cost) { return landscape.excess(cost) <= share; });
  return share_estimate(static_cast<std::uint64_t>(hits), costs.size());
}

/// Returns this thread's processor time, which other processes do not affect.
double thread_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// Returns unrelated seeds for neighbouring repeats.
std::uint64_t seed_of(std::uint64_t seed, std::size_t repeat) {
  Rng outer(seed);
  return Rng(outer.next() + repeat).next();
}

/// Returns the cost on one of several GPUs: GPU 0 is fastest, the others are evenly slower.
double cost_on(std::size_t gpu, std::size_t gpus, double cost) {
  if (gpus < 2) return cost;
  const double place = static_cast<double>(gpu) / static_cast<double>(gpus - 1);
  return cost + std::abs(cost) * kGpuSpread * place;
}

/// Runs a strategy with up to `batch` points in flight, or fewer if it limits them. Adds the
/// strategy's processor time to `thinking`.
Trace run_once(const Recording& recording, const std::vector<double>& seconds,
               const RunOptions& options, Strategy& strategy, double& thinking) {
  const Lattice& lattice = recording.lattice;
  const std::uint64_t most = options.most_seconds ? lattice.size() : options.budget;
  Trace trace;
  std::deque<std::uint64_t> in_flight;
  double spent = 0;
  while (!interrupted() && (!options.most_seconds || spent < *options.most_seconds)) {
    const std::uint64_t may = most - std::min(most, trace.size() + in_flight.size());
    const std::size_t room = std::min(options.batch, strategy.most_in_flight());
    const std::size_t want = std::min<std::uint64_t>(room - std::min(room, in_flight.size()), may);
    double start = thread_seconds();
    const std::vector<Point> asked = want > 0 ? strategy.ask(want) : std::vector<Point>();
    thinking += thread_seconds() - start;
    for (const Point& point : asked) {
      const auto index = lattice.index_of(point);
      FATUNE_CHECK(index.has_value(), "a strategy asks for valid points only");
      in_flight.push_back(*index);
    }
    if (in_flight.empty()) break;
    const std::uint64_t index = in_flight.front();
    in_flight.pop_front();
    trace.push_back(static_cast<std::uint32_t>(index));
    if (options.most_seconds) spent += seconds[index];
    start = thread_seconds();
    std::optional<double> cost = recording.entries[index].cost;
    if (cost) cost = cost_on((trace.size() - 1) % options.gpus, options.gpus, *cost);
    strategy.tell({.point = lattice.point(index), .cost = cost});
    thinking += thread_seconds() - start;
  }
  return trace;
}

/// Calls `work` for each number below `count`, on `jobs` threads that take the next free number.
void for_each_number(std::size_t count, std::size_t jobs,
                     const std::function<void(std::size_t)>& work) {
  std::atomic<std::size_t> next = 0;
  const auto take = [&] {
    for (std::size_t i = next++; i < count; i = next++) work(i);
  };
  std::vector<std::jthread> threads;
  try {
    while (threads.size() + 1 < std::min(jobs, count)) threads.emplace_back(take);
  } catch (const std::system_error&) {
    // A thread could not start: the running threads take all numbers.
  }
  take();
}

}  // namespace

Result<Landscape> Landscape::build(std::span<const std::optional<double>> costs,
                                   const std::string& where) {
  Landscape landscape;
  landscape.size_ = costs.size();
  for (const auto& cost : costs) {
    if (cost) landscape.sorted_.push_back(*cost);
  }
  if (landscape.sorted_.empty()) {
    return file_error(
        fmt::format("{}: none of the {} configs was measured, so there is nothing to score", where,
                    costs.size()));
  }
  std::sort(landscape.sorted_.begin(), landscape.sorted_.end());
  return landscape;
}

double Landscape::median() const { return fatune::median(sorted_); }

std::vector<double> Landscape::expected_best(std::uint64_t most) const {
  std::vector<double> expected{worst()};
  const auto all = static_cast<double>(size_);
  for (std::uint64_t t = 1; t <= std::min(most, size_); ++t) {
    const auto drawn = static_cast<double>(t);
    double sum = optimum();
    double missed = 1;  // probability that all t draws miss the `rank` best configs
    for (std::size_t rank = 1; rank < sorted_.size() && missed > 0; ++rank) {
      const double left = all - static_cast<double>(rank) + 1;  // configs without the rank - 1 best
      missed *= std::max(0.0, (left - drawn) / left);
      sum += missed * (sorted_[rank] - sorted_[rank - 1]);
    }
    expected.push_back(sum);
  }
  return expected;
}

double Landscape::fraction_of_optimum(double cost) const {
  if (cost == optimum()) return 1;
  return optimum() > 0 ? optimum() / cost : optimum() < 0 ? cost / optimum() : 0;
}

double Landscape::excess(double cost) const {
  const double scale = std::abs(optimum());
  return (cost - optimum()) / (scale > 0 ? scale : 1);
}

Result<Runs> run_repeats(const Recording& recording, const std::vector<double>& seconds,
                         const RunOptions& options) {
  FATUNE_CHECK(options.batch > 0, "at least one is in flight");
  const auto make = [&](std::size_t repeat) {
    return make_strategy(options.strategy, recording.lattice,
                         {.seed = seed_of(options.seed, repeat),
                          .budget = options.budget,
                          .one_lever = options.one_lever});
  };
  if (const auto first = make(0); !first) return first.error();
  Runs runs;
  runs.traces.resize(options.repeats);
  std::vector<double> thinking(options.repeats);
  const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
  for_each_number(options.repeats, options.jobs > 0 ? options.jobs : cores, [&](std::size_t i) {
    const auto strategy = make(i);
    FATUNE_CHECK(bool(strategy), "what could be made once can be made again");
    runs.traces[i] = run_once(recording, seconds, options, **strategy, thinking[i]);
  });
  if (interrupted()) return Error{ErrorKind::kInterrupted, "interrupted: nothing was scored"};
  for (const double each : thinking) runs.seconds += each;
  return runs;
}

Estimate mean_estimate(std::span<const double> samples, std::uint64_t seed) {
  FATUNE_CHECK(!samples.empty(), "a mean needs at least one sample");
  Rng rng(seed);
  std::vector<double> means(
      std::clamp(kMostDraws / samples.size(), kFewestResamples, kMostResamples));
  const std::uint64_t count = samples.size();
  FATUNE_CHECK(count >> 32U == 0, "an index is the upper half of a product of 32-bit numbers");
  for (double& resampled : means) {
    double sum = 0;
    for (std::size_t i = 0; i < samples.size(); ++i)
      sum += samples[(rng.next() >> 32U) * count >> 32U];
    resampled = sum / static_cast<double>(samples.size());
  }
  std::sort(means.begin(), means.end());
  return {mean(samples), quantile(means, 0.025), quantile(means, 0.975)};
}

double standard_error(std::span<const double> samples) {
  if (samples.size() < 2) return 0;
  const double middle = mean(samples);
  double squares = 0;
  for (const double sample : samples) squares += (sample - middle) * (sample - middle);
  const auto count = static_cast<double>(samples.size());
  return std::sqrt(squares / (count - 1) / count);
}

Estimate share_estimate(std::uint64_t hits, std::uint64_t trials) {
  FATUNE_CHECK(trials > 0 && hits <= trials, "a share is of something");
  const auto n = static_cast<double>(trials);
  const double share = static_cast<double>(hits) / n;
  const double z2 = kZ95 * kZ95;
  const double centre = (share + z2 / (2 * n)) / (1 + z2 / n);
  const double half = kZ95 / (1 + z2 / n) * std::sqrt(share * (1 - share) / n + z2 / (4 * n * n));
  return {share, std::max(0.0, centre - half), std::min(1.0, centre + half)};
}

std::uint64_t near_at(const Landscape& landscape) {
  return std::max(kNearLeast, (landscape.size() + kNearShare - 1) / kNearShare);
}

Yardstick make_yardstick(const Landscape& landscape, std::uint64_t budget) {
  Yardstick yardstick;
  yardstick.expected = landscape.expected_best(budget);
  yardstick.first = kFirstScored;
  const double least = kLeastHeadroom * std::max(std::abs(landscape.optimum()), 1e-300);
  std::uint64_t last = std::min(budget, landscape.size() - 1);
  while (last >= yardstick.first && yardstick.expected[last] - landscape.optimum() <= least) --last;
  yardstick.last = last;
  return yardstick;
}

std::vector<double> best_so_far(const Trace& trace, const Recording& recording,
                                const Landscape& landscape, std::uint64_t budget) {
  std::vector<double> curve(budget + 1, landscape.worst());
  for (std::uint64_t t = 1; t <= budget; ++t) {
    curve[t] = curve[t - 1];
    if (t > trace.size()) continue;
    const auto& cost = recording.entries[trace[t - 1]].cost;
    if (cost) curve[t] = std::min(curve[t], *cost);
  }
  return curve;
}

std::vector<double> scores_of(const std::vector<Trace>& traces, const Recording& recording,
                              const Landscape& landscape, const Yardstick& yardstick) {
  FATUNE_CHECK(yardstick.scores(), "P needs something to be better than");
  std::vector<double> scores;
  for (const Trace& trace : traces) {
    const auto curve = best_so_far(trace, recording, landscape, yardstick.last);
    double sum = 0;
    for (std::uint64_t t = yardstick.first; t <= yardstick.last; ++t) {
      const double expected = yardstick.expected[t];
      sum += (expected - curve[t]) / (expected - landscape.optimum());
    }
    scores.push_back(sum / static_cast<double>(yardstick.last - yardstick.first + 1));
  }
  return scores;
}

Score score_runs(const std::vector<Trace>& traces, const Recording& recording,
                 const Landscape& landscape, const Yardstick& yardstick, std::uint64_t budget) {
  FATUNE_CHECK(!traces.empty(), "a score is of runs");
  Score score;
  score.repeats = traces.size();
  Curves curves;
  for (const Trace& trace : traces) {
    curves.push_back(best_so_far(trace, recording, landscape, budget));
  }
  if (yardstick.scores()) {
    score.p = mean_estimate(scores_of(traces, recording, landscape, yardstick), kResampleSeed);
  }
  for (std::size_t i = 0; i < kFractionsAt.size(); ++i) {
    if (kFractionsAt[i] > budget) continue;
    std::vector<double> fractions = column(curves, kFractionsAt[i]);
    for (double& value : fractions) value = landscape.fraction_of_optimum(value);
    score.at[i] = mean_estimate(fractions, kResampleSeed);
  }
  for (std::size_t i = 0; i < kWithinAt.size(); ++i) {
    if (kWithinAt[i] > budget) continue;
    score.within[i] = share_within(kWithin, column(curves, kWithinAt[i]), landscape);
  }
  if (near_at(landscape) <= budget) {
    score.near = share_within(kNear, column(curves, near_at(landscape)), landscape);
  }
  score.near_at_end = share_within(kNear, column(curves, budget), landscape);
  for (std::uint64_t t = 1; t <= budget; ++t) {
    score.excess.push_back(excess_estimate(column(curves, t), landscape));
  }
  return score;
}

}  // namespace fatune
