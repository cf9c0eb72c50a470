// driver.cpp: Loads the CUDA driver's entry points and classifies its return codes.
#include "gpu/driver.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "core/file.hpp"
#include "core/text.hpp"
#include "gpu/library.hpp"

namespace fatune::gpu {
namespace {

constexpr int kOldestVersion = 11080;  ///< the first CUDA with cuLaunchKernelEx, 11.8

struct Loaded {
  Driver driver;
  int version = 0;
  std::optional<Status> status;  ///< result of the first attempt to load
  SymbolSource symbols;          ///< replaces the symbols of libcuda.so.1 in tests
};

/// The only mutable global of the program.
Loaded& loaded() {
  static Loaded state;
  return state;
}

Result<SymbolSource> system_symbols() {
  auto library = Library::open({"libcuda.so.1"});
  if (!library) {
    return environment_error(
        "no NVIDIA driver was found (libcuda.so.1 cannot be opened). Install the driver, or, in a "
        "container, start it with access to the GPU (--gpus all). Without a GPU, "
        "`fatune sweep --device recorded` and `fatune compile` still work");
  }
  return SymbolSource([found = *library](const char* symbol) { return found.symbol(symbol); });
}

Status load_once(Loaded& state) {
  if (!state.symbols) {
    FATUNE_TRY(state.symbols, system_symbols());
  }
  Driver& table = state.driver;
  const std::string missing = fill(table, state.symbols, NeededBy::kFatune);
  if (!missing.empty()) {
    return environment_error(
        fmt::format("the NVIDIA driver (libcuda.so.1) is too old: it lacks {}; fatune needs a "
                    "driver for CUDA {} or newer (520 or newer)",
                    missing, cuda_version_text(kOldestVersion)));
  }
  const CUresult code = table.init(0);
  if (code == CUDA_SUCCESS)
    return check(table.driver_version(&state.version), "cannot ask the driver for its version");
  const char* name = nullptr;
  table.error_name(code, &name);
  const std::string reason = name == nullptr ? std::to_string(code) : name;
  if (code == CUDA_ERROR_NO_DEVICE) {
    return device_error(fmt::format(
        "the NVIDIA driver finds no GPU ({}); `nvidia-smi` and CUDA_VISIBLE_DEVICES tell more",
        reason));
  }
  return environment_error(
      fmt::format("the NVIDIA driver does not start (cuInit: {}); `nvidia-smi` and the system's "
                  "log tell more",
                  reason));
}

/// Starts or ends a profiler's range; an old driver may lack the call.
Status bound_range(CUresult (*call)(), const char* symbol) {
  if (call == nullptr)
    return environment_error(fmt::format("the NVIDIA driver has no {}: it is too old", symbol));
  return check(call(), fmt::format("cannot call {}", symbol));
}

}  // namespace

Status load_driver() {
  Loaded& state = loaded();
  if (!state.status) state.status = load_once(state);
  return *state.status;
}

const Driver& driver() {
  const Loaded& state = loaded();
  FATUNE_CHECK(state.driver.error_name != nullptr, "load_driver() comes before any driver call");
  return state.driver;
}

int driver_version() { return loaded().version; }

void use_driver(SymbolSource symbols) {
  loaded() = {};
  loaded().symbols = std::move(symbols);
}

std::string cuda_version_text(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

std::string parse_kernel_module_version(std::string_view text) {
  // Example: "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.159.04  Release Build ..."
  for (const auto& line : split(text, '\n')) {
    if (!line.starts_with("NVRM version:")) continue;
    for (const auto& word : split(line, ' ')) {
      const auto parts = split(word, '.');
      const bool numbers = std::ranges::all_of(
          parts, [](const std::string& part) { return parse_integer(part).has_value(); });
      if (parts.size() >= 2 && numbers) return word;
    }
  }
  return "";
}

std::string kernel_module_version() {
  const auto text = read_file("/proc/driver/nvidia/version");
  std::string version = text ? parse_kernel_module_version(*text) : "";
  if (!version.empty()) return version;
  const auto line = read_file("/sys/module/nvidia/version");
  return line ? std::string(trim(*line)) : "";
}

Error call_error(CUresult code, std::string_view doing) {
  return device_error(fmt::format("{}: {}", doing, describe(driver(), code)));
}

Status check(CUresult code, std::string_view doing) {
  if (code == CUDA_SUCCESS) return {};
  return call_error(code, doing);
}

bool is_sticky(CUresult code) {
  constexpr CUresult kSticky[] = {CUDA_ERROR_ECC_UNCORRECTABLE,
                                  CUDA_ERROR_ILLEGAL_ADDRESS,
                                  CUDA_ERROR_LAUNCH_TIMEOUT,
                                  CUDA_ERROR_CONTEXT_IS_DESTROYED,
                                  CUDA_ERROR_ASSERT,
                                  CUDA_ERROR_HARDWARE_STACK_ERROR,
                                  CUDA_ERROR_ILLEGAL_INSTRUCTION,
                                  CUDA_ERROR_MISALIGNED_ADDRESS,
                                  CUDA_ERROR_INVALID_ADDRESS_SPACE,
                                  CUDA_ERROR_INVALID_PC,
                                  CUDA_ERROR_LAUNCH_FAILED,
                                  CUDA_ERROR_UNKNOWN};
  return std::ranges::find(kSticky, code) != std::end(kSticky);
}

bool context_broken(CUstream stream) {
  const CUresult code = driver().stream_query(stream);
  return code != CUDA_SUCCESS && code != CUDA_ERROR_NOT_READY;
}

Status start_profiler_range() { return bound_range(driver().profiler_start, "cuProfilerStart"); }
Status stop_profiler_range() { return bound_range(driver().profiler_stop, "cuProfilerStop"); }

}  // namespace fatune::gpu
