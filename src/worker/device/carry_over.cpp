// carry_over.cpp - what a candidate leaves to the kernel behind it: a cache that holds what others
// had in it.
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/log.hpp"
#include "core/text.hpp"
#include "model/results/statistics.hpp"
#include "worker/device/gates.hpp"

namespace fatune {
namespace {

// The neighbour has a quarter of the L2 cache. Both it and what a candidate moves may lie there
// twice, once in each half of the cache (as on an H200), and lines give way before all places are
// taken, since an address has few of them. Where both take 0.98 of the cache, 20 of 60 honest
// configs slowed the reads by 1.12 to 1.22 (32,12,77,64 causal); where they take 0.77, none of 73
// (4,8,512,64). So a candidate is judged while they take 0.8 at most.
constexpr double kMostMoved = 0.6;  // of the neighbour's bytes: 2 * (1 / 4 + 0.6 / 4) = 0.8
constexpr int kPairs = static_cast<int>(kLeastSamples);
constexpr int kResamplesOfPairs = 1'000;
/// Chosen: a read from memory takes 2 to 3 times one from the cache, and a warp waits for the
/// slowest of its four lines, so that some 2 % of the lines lost already show. Below that is
/// chance: which lines give way is a matter of addresses.
constexpr double kMostSlower = 1.10;
enum Finding : std::size_t { kCounted, kIgnored, kFindings };

Failure refused(const std::string& why) {
  return {Outcome::kWrongResult, std::string(kCarryOverGate) + ": " + why, false};
}

std::size_t bytes_of(const std::vector<const GuardedBuffer*>& buffers) {
  std::size_t bytes = 0;
  for (const GuardedBuffer* buffer : buffers) bytes += buffer->bytes();
  return bytes;
}

}  // namespace

/// Adds how long the neighbour reads behind the work.
MaybeFailure GateKeeper::time_reads_behind(const QueueWork& work, std::vector<double>& cycles) {
  DeviceChecks& checks = problem_.checks();
  const gpu::Buffer& memory = problem_.neighbours_memory();
  const auto all = [&]() -> Status {
    FATUNE_TRY_STATUS(checks.queue_read(memory, kIgnored));
    FATUNE_TRY_STATUS(checks.queue_read(memory, kIgnored));
    FATUNE_TRY_STATUS(work());
    return checks.queue_read(memory, kCounted);
  };
  if (auto failure = failed(checks.clear(kFindings))) return failure;
  if (auto failure = unfinished(session_.sampler->time_once(all))) return failure;
  const auto taken = checks.take(kCounted);
  if (!taken) return failed(taken);
  cycles.push_back(static_cast<double>(*taken));
  return std::nullopt;
}

/// Compared with work that reads the inputs and the scratch memory once, and writes the outputs.
MaybeFailure GateKeeper::check_carry_over() {
  if (program_.self_timed() != nullptr) return std::nullopt;  // it runs in a process of its own
  const TensorAddresses tensors = problem_.addresses(problem_.sets().front());
  if (auto failure = failed(program_.bind(tensors))) return failure;
  const auto outputs = problem_.outputs();
  const auto scratch = program_.scratch();
  const std::vector<GuardedBuffer>& inputs = problem_.sets().front().inputs;
  const std::size_t moved = bytes_of(pointers_to({inputs, outputs, scratch}));
  const auto most = static_cast<std::size_t>(
      kMostMoved * static_cast<double>(problem_.neighbours_memory().bytes()));
  if (moved > most) {
    verification_.not_run.push_back(
        fmt::format("{}: tensors and scratch memory are {}, more than {}, 15 % of the L2 cache",
                    kCarryOverGate, describe(Bytes(moved)), describe(Bytes(most))));
    return std::nullopt;
  }
  const CUstream stream = session_.stream.raw();
  const auto neutral = [&]() -> Status {
    FATUNE_TRY_STATUS(fill_insides(scratch, kNanByte, stream));
    for (const GuardedBuffer* buffer : pointers_to({inputs, scratch}))
      FATUNE_TRY_STATUS(problem_.checks().queue_sum(*buffer, kIgnored));
    return fill_insides(outputs, kNanByte, stream);
  };
  std::vector<double> behind_it, behind_neutral;
  for (int i = 0; i < kPairs; ++i) {
    if (auto failure = time_reads_behind(neutral, behind_neutral)) return failure;
    if (auto failure = time_reads_behind([&] { return program_.queue(); }, behind_it))
      return failure;
  }
  const Interval slower = bootstrap_ratio(behind_it, behind_neutral, kResamplesOfPairs, 0);
  const std::string times = fmt::format("{:.2f} to {:.2f} times", slower.low, slower.high);
  log::debug(fmt::format("{}: reads behind it take {} as long", kCarryOverGate, times));
  if (slower.low <= kMostSlower) {
    verification_.gates.push_back(kCarryOverGate);
    return std::nullopt;
  }
  Failure failure = refused("reading memory that was in the L2 cache takes " + times +
                            " as long behind it as behind a kernel that moves as many bytes");
  if (!program_.may_vary()) return failure;
  verification_.not_run.push_back(failure.reason);  // a library is as it is
  return std::nullopt;
}

}  // namespace fatune
