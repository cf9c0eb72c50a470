// plan.cpp - checks the tensors of a call and queues the launches of a plan.
#include "runtime/plan.hpp"

#include <fmt/format.h>

namespace fatune::rt {
namespace {

Failure bad(std::string message) { return {FATUNE_RT_BAD_ARGUMENT, std::move(message)}; }

CUdeviceptr address(const void* pointer) { return reinterpret_cast<CUdeviceptr>(pointer); }

Outcome<Addresses> addresses_of(const fatune_rt_plan& plan, const fatune_rt_tensors& tensors) {
  const Addresses addresses = {address(tensors.q), address(tensors.k), address(tensors.v),
                               address(tensors.out), address(tensors.lse)};
  for (std::size_t i = 0; i < kTensors; ++i) {
    if (addresses[i] % kTensorAlignment != 0) {
      return bad(fmt::format("tensors.{}: {:#x} is no multiple of {} bytes, as kernels need it",
                             kTensorNames[i], addresses[i], kTensorAlignment));
    }
    if (i != kLse && addresses[i] == 0)
      return bad(fmt::format("tensors.{} is null", kTensorNames[i]));
  }
  if (plan.lse != (addresses[kLse] != 0)) {
    return bad(plan.lse ? "tensors.lse is null, but the problem has lse"
                        : "tensors.lse is not null, but the problem has no lse");
  }
  return addresses;
}

Outcome<Done> check_scratch(const fatune_rt_plan& plan, const fatune_rt_tensors& tensors) {
  const std::size_t wanted = plan.program->scratch_bytes();
  if (tensors.scratch_bytes < wanted) {
    return bad(fmt::format("tensors.scratch_bytes is {}, but the plan needs {}",
                           tensors.scratch_bytes, wanted));
  }
  if (address(tensors.scratch) % kScratchAlignment == 0) return Done{};
  return bad(fmt::format("tensors.scratch is no multiple of {} bytes", kScratchAlignment));
}

Outcome<Done> queue_all(const fatune_rt_plan& plan, Addresses addresses, CUdeviceptr scratch,
                        CUstream stream) {
  for (std::int64_t i = 0; i < plan.fit.launches; ++i) {
    FATUNE_TRY_STATUS(plan.program->queue(addresses, scratch, stream));
    addresses[kQ] += static_cast<CUdeviceptr>(plan.parts.query);
    addresses[kK] += static_cast<CUdeviceptr>(plan.parts.key);
    addresses[kV] += static_cast<CUdeviceptr>(plan.parts.key);
    addresses[kOut] += static_cast<CUdeviceptr>(plan.parts.query);
    if (plan.lse) addresses[kLse] += static_cast<CUdeviceptr>(plan.parts.lse);
  }
  return Done{};
}

Outcome<Done> check_device(const fatune_rt_plan& plan) {
  FATUNE_TRY(const CUdevice device, current_device(*plan.driver));
  if (device == plan.device) return Done{};
  return bad(
      fmt::format("the plan is for device {}, but the current context is on device {}: "
                  "find a plan there, too",
                  plan.device, device));
}

}  // namespace

Outcome<Done> launch(const fatune_rt_plan& plan, const fatune_rt_tensors& tensors,
                     CUstream stream) {
  FATUNE_TRY_STATUS(check_device(plan));
  FATUNE_TRY(const Addresses addresses, addresses_of(plan, tensors));
  if (plan.program->scratch_bytes() == 0) return queue_all(plan, addresses, 0, stream);
  if (tensors.scratch != nullptr) {
    FATUNE_TRY_STATUS(check_scratch(plan, tensors));
    return queue_all(plan, addresses, address(tensors.scratch), stream);
  }
  CUdeviceptr scratch = 0;
  const std::size_t bytes = plan.program->scratch_bytes();
  if (const CUresult code = plan.driver->allocate_async(&scratch, bytes, stream);
      code != CUDA_SUCCESS) {
    return check(*plan.driver, code,
                 fmt::format("cannot allocate {} bytes of scratch memory", bytes));
  }
  Outcome<Done> queued = queue_all(plan, addresses, scratch, stream);
  const CUresult freed = plan.driver->free_async(scratch, stream);
  if (!queued) return queued;
  return check(*plan.driver, freed, "cannot free the scratch memory");
}

}  // namespace fatune::rt
