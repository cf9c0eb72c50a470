// device_session.cpp - opens a device, and turns its facts into an environment.
#include "worker/device/device_session.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "core/log.hpp"
#include "core/text.hpp"
#include "model/results/statistics.hpp"

namespace fatune {
namespace {

constexpr int kEmptyPairs = 50;

/// Median time between two events with nothing between them: recorded in the log, never subtracted.
Status log_event_overhead(Sampler& sampler) {
  std::vector<double> pairs;
  for (int i = 0; i < kEmptyPairs; ++i) {
    FATUNE_TRY(const MaybeTime time, sampler.time_once([] { return Status(); }));
    if (time) pairs.push_back(time->value);
  }
  if (!pairs.empty()) log::info("an empty pair of events takes " + describe(Micros(median(pairs))));
  return {};
}

}  // namespace

Result<std::unique_ptr<DeviceSession>> open_device_session(int ordinal) {
  auto session = std::make_unique<DeviceSession>();
  FATUNE_TRY(session->facts, gpu::device_facts(ordinal));
  session->telemetry = gpu::Telemetry::open(session->facts.pci_bus_id);
  if (!session->telemetry.available())
    log::warn("no clocks and throttle reasons: " + session->telemetry.problem());
  FATUNE_TRY(session->context, gpu::make_context(ordinal));
  FATUNE_TRY(session->stream, gpu::make_stream(session->context));
  FATUNE_TRY_STATUS(gpu::forbid_persisting_lines(session->stream.raw()));
  FATUNE_TRY(Sampler sampler,
             Sampler::make(session->context, session->stream.raw(), session->telemetry,
                           session->facts.l2_bytes, SamplingPlan{}));
  session->sampler.emplace(std::move(sampler));
  FATUNE_TRY_STATUS(log_event_overhead(*session->sampler));
  return session;
}

Environment environment_of(const gpu::DeviceFacts& facts) {
  Environment environment;
  environment.device_name = facts.name;
  environment.device_uuid = facts.uuid;
  environment.driver = facts.driver;
  environment.cuda_driver = facts.cuda_driver;
  environment.limits.arch = best_arch(facts.major, facts.minor);
  environment.limits.max_shared_block = facts.max_shared_block;
  environment.limits.max_shared_sm = facts.max_shared_sm;
  environment.limits.max_threads_block = facts.max_threads_block;
  environment.limits.max_threads_sm = facts.max_threads_sm;
  environment.limits.max_registers_sm = facts.max_registers_sm;
  environment.limits.max_blocks_sm = facts.max_blocks_sm;
  environment.limits.sm_count = facts.sm_count;
  environment.limits.memory_bytes = facts.memory_bytes;
  environment.l2_bytes = facts.l2_bytes;
  environment.memory_bus_bits = facts.memory_bus_bits;
  environment.memory_clock_mhz = facts.memory_clock_mhz;
  environment.max_sm_clock_mhz = facts.max_sm_clock_mhz;
  return environment;
}

}  // namespace fatune
