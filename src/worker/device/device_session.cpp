// device_session.cpp: Opens the device of a worker, and describes it.
#include "worker/device/device_session.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "core/log.hpp"
#include "core/processes.hpp"
#include "core/text.hpp"
#include "model/results/statistics.hpp"
#include "worker/timing/layer.hpp"

namespace fatune {
namespace {

constexpr int kEmptyPairs = 50;

/// Logs the median time between two events with nothing between them. It is never subtracted.
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

bool is_own_process(pid_t pid) {
  return pid == ::getpid() || living_below(::getpid()).contains(pid);
}

int other_processes(const gpu::Telemetry& telemetry) {
  const std::vector<gpu::GpuProcess> all = telemetry.compute_processes();
  return static_cast<int>(std::ranges::count_if(all, [](const gpu::GpuProcess& each) {
    return !is_own_process(static_cast<pid_t>(each.pid));
  }));
}

OutsideSetting outside_setting(const DeviceSession& session, const Problem& problem,
                               const std::optional<OperationPlan>& custom) {
  const Attention* const attention = problem.attention();
  return {session.context,
          session.stream.raw(),
          attention != nullptr ? in_given_types(*attention) : problem,
          session.facts.l2_bytes,
          session.facts.uuid,
          custom};
}

void load_products(const DeviceSession& session, const Attention& problem) {
  const auto plan = layer_plan(in_given_types(problem), session.facts.l2_bytes);
  if (plan) static_cast<void>(session.open_gemm(plan->after.plan));
}

Result<std::unique_ptr<DeviceSession>> open_device_session() {
  auto session = std::make_unique<DeviceSession>();
  FATUNE_TRY(session->facts, gpu::device_facts(0));
  session->telemetry = gpu::Telemetry::open(session->facts.pci_bus_id);
  if (!session->telemetry.available())
    log::warn("no clocks and throttle reasons: " + session->telemetry.problem());
  FATUNE_TRY(session->context, gpu::make_context(0));
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
  environment.limits = static_cast<const DeviceLimits&>(facts);
  environment.limits.arch = best_arch(facts.major, facts.minor);
  environment.l2_bytes = facts.l2_bytes;
  environment.memory_bus_bits = facts.memory_bus_bits;
  environment.memory_clock_mhz = facts.memory_clock_mhz;
  environment.max_sm_clock_mhz = facts.max_sm_clock_mhz;
  return environment;
}

std::string unfit_reason(const gpu::DeviceFacts& facts) {
  const gpu::Telemetry telemetry = gpu::Telemetry::open(facts.pci_bus_id);
  if (!telemetry.available()) return "";
  if (telemetry.mig_enabled().value_or(false))
    return "MIG is on: slices share memory and power with their neighbours";
  const std::size_t others = telemetry.compute_processes().size();
  if (others == 0) return "";
  return fmt::format("{} on it", others == 1 ? "another process computes"
                                             : fmt::format("{} other processes compute", others));
}

}  // namespace fatune
