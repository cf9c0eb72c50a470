// fatune_rt.cpp: Implements the C interface on the C++ classes and converts failures to statuses.
#include "runtime/fatune_rt.h"

#include <algorithm>
#include <new>

#include <fmt/format.h>

#include "runtime/wisdom.hpp"

using fatune::Attention;
using fatune::KernelFacts;
using fatune::rt::Done;
using fatune::rt::Failure;
using fatune::rt::Outcome;
using fatune::rt::StoredKernel;

namespace {

fatune_rt_status report(fatune_rt_error* error, fatune_rt_status status, std::string_view message,
                        std::int32_t driver_code) noexcept {
  if (error == nullptr) return status;
  error->status = status;
  error->driver_code = driver_code;
  const std::size_t length = std::min(message.size(), sizeof(error->message) - 1);
  std::copy_n(message.data(), length, error->message);
  error->message[length] = '\0';
  return status;
}

fatune_rt_status report(fatune_rt_error* error, const Failure& failure) noexcept {
  return report(error, failure.status, failure.message, failure.driver_code);
}

/// Runs the action and catches exceptions of libraries, which must not leave the C interface.
template <typename Action>
fatune_rt_status guarded(fatune_rt_error* error, const Action& action) noexcept {
  try {
    const Outcome<Done> outcome = action();
    return outcome ? FATUNE_RT_OK : report(error, outcome.error());
  } catch (const std::bad_alloc&) {
    return report(error, FATUNE_RT_OUT_OF_MEMORY, "the host is out of memory", 0);
  } catch (const std::exception& exception) {
    return report(error, FATUNE_RT_BAD_FILE, exception.what(), 0);
  }
}

Failure null_argument(const char* name) {
  return {FATUNE_RT_BAD_ARGUMENT, std::string(name) + " is null"};
}

/// Returns zeros if all tensors are contiguous.
fatune_rt_strides strides_to_c(const Attention& problem, std::string_view tensor) {
  if (problem.layouts.plain()) return {};
  const fatune::Strides strides = strides_of(problem, tensor);
  return {strides.batch, strides.head, strides.row};
}

/// The strings are those of `facts`.
fatune_rt_problem to_c(const StoredKernel& kernel) {
  const Attention& problem = kernel.facts.problem.as_attention();
  return {problem.batch,
          problem.heads,
          problem.kv_heads,
          problem.seq_q,
          problem.seq_kv,
          problem.head_dim,
          static_cast<std::int32_t>(problem.dtype),
          problem.lse ? 1 : 0,
          kernel.mask.empty() ? nullptr : kernel.mask.c_str(),
          kernel.bias.empty() ? nullptr : kernel.bias.c_str(),
          problem.score.empty() ? nullptr : problem.score.c_str(),
          kernel.tensors.empty() ? nullptr : kernel.tensors.c_str(),
          problem.softcap.value_or(0),
          kernel.facts.scale,
          problem.value_dim.value_or(0),
          problem.alibi ? 1 : 0,
          problem.sink ? 1 : 0,
          strides_to_c(problem, "q"),
          strides_to_c(problem, "k"),
          strides_to_c(problem, "v"),
          strides_to_c(problem, "out")};
}

fatune_rt_kernel_info info_of(const StoredKernel& kernel) {
  const KernelFacts& facts = kernel.facts;
  return {facts.kernel.c_str(),
          facts.id.c_str(),
          facts.config.c_str(),
          facts.arch.c_str(),
          facts.device_name.c_str(),
          facts.command.c_str(),
          to_c(kernel),
          facts.measured ? facts.measured->hot_us : 0,
          facts.verified ? 1 : 0,
          facts.recorded ? 1 : 0};
}

}  // namespace

int fatune_rt_abi(void) { return FATUNE_RT_ABI; }

const char* fatune_rt_version(void) { return FATUNE_VERSION; }

const char* fatune_rt_status_name(fatune_rt_status status) {
  constexpr const char* kNames[] = {
      "FATUNE_RT_OK",           "FATUNE_RT_BAD_ARGUMENT",  "FATUNE_RT_NO_KERNEL",
      "FATUNE_RT_OTHER_DEVICE", "FATUNE_RT_BAD_FILE",      "FATUNE_RT_TAMPERED",
      "FATUNE_RT_NO_DRIVER",    "FATUNE_RT_DRIVER_FAILED", "FATUNE_RT_OUT_OF_MEMORY"};
  const auto index = static_cast<std::size_t>(status);
  return index < std::size(kNames) ? kNames[index] : "unknown status";
}

fatune_rt_status fatune_rt_open(const char* folder, fatune_rt** wisdom, fatune_rt_error* error) {
  return guarded(error, [&]() -> Outcome<Done> {
    if (folder == nullptr) return null_argument("folder");
    if (wisdom == nullptr) return null_argument("wisdom");
    FATUNE_TRY(std::unique_ptr<fatune_rt> opened, fatune_rt::open(folder));
    *wisdom = opened.release();
    return Done{};
  });
}

void fatune_rt_close(fatune_rt* wisdom) { delete wisdom; }

size_t fatune_rt_count(const fatune_rt* wisdom) {
  return wisdom == nullptr ? 0 : wisdom->kernels().size();
}

fatune_rt_status fatune_rt_kernel(const fatune_rt* wisdom, size_t index,
                                  fatune_rt_kernel_info* info, fatune_rt_error* error) {
  return guarded(error, [&]() -> Outcome<Done> {
    if (wisdom == nullptr) return null_argument("wisdom");
    if (info == nullptr) return null_argument("info");
    if (index >= wisdom->kernels().size()) {
      return Failure{FATUNE_RT_BAD_ARGUMENT,
                     fmt::format("index is {}, but the wisdom has {} kernels", index,
                                 wisdom->kernels().size())};
    }
    *info = info_of(wisdom->kernels()[index]);
    return Done{};
  });
}

fatune_rt_status fatune_rt_find(fatune_rt* wisdom, const fatune_rt_problem* problem,
                                const fatune_rt_options* options, const fatune_rt_plan** plan,
                                fatune_rt_error* error) {
  return guarded(error, [&]() -> Outcome<Done> {
    if (wisdom == nullptr) return null_argument("wisdom");
    if (problem == nullptr) return null_argument("problem");
    if (plan == nullptr) return null_argument("plan");
    FATUNE_TRY(*plan, wisdom->find(*problem, options == nullptr ? fatune_rt_options{} : *options));
    return Done{};
  });
}

void fatune_rt_describe(const fatune_rt_plan* plan, fatune_rt_plan_info* info) {
  *info = {plan->kernel, plan->fit.kind, static_cast<std::int32_t>(plan->fit.launches),
           plan->program->scratch_bytes()};
}

fatune_rt_status fatune_rt_launch(const fatune_rt_plan* plan, const fatune_rt_tensors* tensors,
                                  struct CUstream_st* stream, fatune_rt_error* error) {
  return guarded(error, [&]() -> Outcome<Done> {
    if (plan == nullptr) return null_argument("plan");
    if (tensors == nullptr) return null_argument("tensors");
    return fatune::rt::launch(*plan, *tensors, stream);
  });
}

fatune_rt_status fatune_rt_run(fatune_rt* wisdom, const fatune_rt_problem* problem,
                               const fatune_rt_tensors* tensors, struct CUstream_st* stream,
                               fatune_rt_error* error) {
  return guarded(error, [&]() -> Outcome<Done> {
    if (wisdom == nullptr) return null_argument("wisdom");
    if (problem == nullptr) return null_argument("problem");
    if (tensors == nullptr) return null_argument("tensors");
    FATUNE_TRY(const fatune_rt_plan* plan, wisdom->find(*problem, fatune_rt_options{}));
    return fatune::rt::launch(*plan, *tensors, stream);
  });
}

fatune_rt_status fatune_rt_nearest(const fatune_rt* wisdom, const fatune_rt_problem* problem,
                                   size_t* index, fatune_rt_error* error) {
  return guarded(error, [&]() -> Outcome<Done> {
    if (wisdom == nullptr) return null_argument("wisdom");
    if (problem == nullptr) return null_argument("problem");
    if (index == nullptr) return null_argument("index");
    FATUNE_TRY(*index, wisdom->nearest(*problem));
    return Done{};
  });
}
