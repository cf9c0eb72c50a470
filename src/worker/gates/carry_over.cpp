// carry_over.cpp: Times a kernel that reads cached memory behind the candidate.
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/log.hpp"
#include "core/text.hpp"
#include "model/results/statistics.hpp"
#include "worker/gates/gates.hpp"

namespace fatune {
namespace {

// The neighbour's data is a quarter of the L2 cache. Its lines, and those that a candidate moves,
// may be cached twice, once in each half of the cache (as on an H200). Lines are evicted before the
// cache is full, since an address has few places. Where both take 0.98 of the cache, 20 of 60
// honest configs slowed the reads by 1.12 to 1.22 (32,12,77,64 causal); where they take 0.77, none
// of 73 (4,8,512,64). So a candidate is judged while they take 0.8 at most.
constexpr double kMostMoved = 0.6;  // of the neighbour's bytes: 2 * (1 / 4 + 0.6 / 4) = 0.8
constexpr int kPairs = static_cast<int>(kLeastSamples);
constexpr int kResamplesOfPairs = 1'000;
/// Chosen: a read from memory takes 2 to 3 times one from the cache, and a warp waits for the
/// slowest of its four lines. So a loss of some 2 % of the lines already shows. Smaller losses are
/// chance, because addresses decide which lines are evicted.
constexpr double kMostSlower = 1.10;
enum Finding : std::size_t { kCounted, kIgnored, kFindings };

std::size_t bytes_of(const std::vector<const GuardedBuffer*>& buffers) {
  std::size_t bytes = 0;
  for (const GuardedBuffer* buffer : buffers) bytes += buffer->bytes();
  return bytes;
}

/// Adds how long the neighbour reads behind the work.
MaybeFailure time_reads_behind(GateContext& context, const QueueWork& work,
                               std::vector<double>& cycles) {
  DeviceChecks& checks = context.problem.checks();
  const gpu::Buffer& memory = context.problem.neighbours_memory();
  const auto all = [&]() -> Status {
    FATUNE_TRY_STATUS(checks.queue_read(memory, kIgnored));
    FATUNE_TRY_STATUS(checks.queue_read(memory, kIgnored));
    FATUNE_TRY_STATUS(work());
    return checks.queue_read(memory, kCounted);
  };
  if (auto failure = context.failed(checks.clear(kFindings))) return failure;
  if (auto failure = context.unfinished(context.session.sampler->time_once(all))) return failure;
  const auto taken = checks.take(kCounted);
  if (!taken) return context.failed(taken);
  cycles.push_back(static_cast<double>(*taken));
  return std::nullopt;
}

/// Queues a kernel that reads inputs and scratch memory once, and writes the outputs once.
Status queue_neutral(GateContext& context) {
  const CUstream stream = context.session.stream.raw();
  const auto scratch = context.program.scratch();
  FATUNE_TRY_STATUS(fill_insides(scratch, kNanByte, stream));
  for (const GuardedBuffer* buffer : pointers_to({context.problem.sets().front().inputs, scratch}))
    FATUNE_TRY_STATUS(context.problem.checks().queue_sum(*buffer, kIgnored));
  FATUNE_TRY_STATUS(fill_insides(context.problem.outputs(), kNanByte, stream));
  return context.problem.fill_read_outputs(context.problem.sets().front());
}

}  // namespace

/// Compares reads behind the candidate with reads behind queue_neutral().
GateReport check_carry_over(GateContext& context) {
  Executable& program = context.program;
  DeviceProblem& problem = context.problem;
  if (program.self_timed() != nullptr) return GateReport::not_asked();  // in another process
  InputSet& set = problem.sets().front();
  if (auto failure = context.failed(program.bind(problem.addresses(set)))) return failure;
  const std::size_t moved =
      bytes_of(pointers_to({set.inputs, problem.outputs(), program.scratch()}));
  const auto most = static_cast<std::size_t>(
      kMostMoved * static_cast<double>(problem.neighbours_memory().bytes()));
  if (moved > most) {
    return GateReport::not_run(
        fmt::format("tensors and scratch memory are {}, more than {}, 15 % of the L2 cache",
                    describe(Bytes(moved)), describe(Bytes(most))));
  }
  const auto neutral = [&] { return queue_neutral(context); };
  const auto candidate = [&] { return program.queue(); };
  std::vector<double> behind_it, behind_neutral;
  for (int i = 0; i < kPairs; ++i) {
    if (auto failure = time_reads_behind(context, neutral, behind_neutral)) return failure;
    if (auto failure = time_reads_behind(context, candidate, behind_it)) return failure;
  }
  const Interval slower = bootstrap_ratio(behind_it, behind_neutral, kResamplesOfPairs, 0);
  const std::string times = fmt::format("{:.2f} to {:.2f} times", slower.low, slower.high);
  log::debug(fmt::format("{}: reads behind it take {} as long", name(GateId::kCarryOver), times));
  if (slower.low <= kMostSlower) return {};
  std::string why = "reading memory that was in the L2 cache takes " + times +
                    " as long behind it as behind a kernel that moves as many bytes";
  if (program.may_vary()) return GateReport::not_run(std::move(why));  // a library is as it is
  return refused(GateId::kCarryOver, why);
}

}  // namespace fatune
