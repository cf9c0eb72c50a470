// driver.cpp - fills the table of driver entry points from libcuda.so.1.
#include "gpu/driver.hpp"

#include <algorithm>
#include <fstream>
#include <optional>
#include <sstream>

#include "core/check.hpp"
#include "core/text.hpp"
#include "gpu/call.hpp"
#include "gpu/library.hpp"

namespace fatune::gpu {
namespace {

constexpr int kOldestVersion = 11080;  ///< cuLaunchKernelEx came with CUDA 11.8

struct Loaded {
  Driver driver;
  std::optional<Status> status;  ///< of the one attempt to load
};

/// The only mutable global of the program.
Loaded& loaded() {
  static Loaded state;
  return state;
}

Status fill(const Library& library, Driver& table) {
  SymbolLoader symbols(library);
#define FATUNE_LOAD(member, api, symbol) symbols.load(table.member, symbol);
#define FATUNE_LOAD_OPTIONAL(member, api, symbol) \
  table.member = library.function<decltype(&::api)>(symbol);
  FATUNE_DRIVER_FUNCTIONS(FATUNE_LOAD)
  FATUNE_OPTIONAL_DRIVER_FUNCTIONS(FATUNE_LOAD_OPTIONAL)
#undef FATUNE_LOAD
#undef FATUNE_LOAD_OPTIONAL
  if (symbols.missing().empty()) return {};
  return environment_error("the NVIDIA driver (" + library.path() + ") is too old: it lacks " +
                           symbols.missing() + "; fatune needs a driver for CUDA " +
                           cuda_version_text(kOldestVersion) + " or newer (520 or newer)");
}

Status load_once(Driver& table) {
  auto library = Library::open({"libcuda.so.1"});
  if (!library) {
    return environment_error(
        "no NVIDIA driver was found (libcuda.so.1 cannot be opened). Install the driver, or, in a "
        "container, start it with access to the GPU (--gpus all). Without a GPU, "
        "`--device recorded:FILE` and `--compile-only` still work");
  }
  table.path = library->path();
  FATUNE_TRY_STATUS(fill(*library, table));
  if (const CUresult code = table.init(0); code != CUDA_SUCCESS) {
    const char* name = nullptr;
    table.error_name(code, &name);
    const std::string reason = name == nullptr ? std::to_string(code) : name;
    if (code == CUDA_ERROR_NO_DEVICE) {
      return device_error("the NVIDIA driver finds no GPU (" + reason +
                          "); `nvidia-smi` and CUDA_VISIBLE_DEVICES tell more");
    }
    return environment_error("the NVIDIA driver does not start (cuInit: " + reason +
                             "); `nvidia-smi` and the system's log tell more");
  }
  return check(table.driver_version(&table.version), "cannot ask the driver for its version");
}

std::string read_small_file(const char* path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

Status load_driver() {
  Loaded& state = loaded();
  if (!state.status) state.status = load_once(state.driver);
  return *state.status;
}

const Driver& driver() {
  const Loaded& state = loaded();
  FATUNE_CHECK(state.driver.error_name != nullptr, "load_driver() comes before any driver call");
  return state.driver;
}

std::string cuda_version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

std::string parse_kernel_module_version(std::string_view text) {
  // "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.159.04  Release Build ..."
  for (const auto& line : split(text, '\n')) {
    if (!line.starts_with("NVRM version:")) continue;
    for (const auto& word : split(line, ' ')) {
      const auto parts = split(word, '.');
      const bool numbers = std::all_of(parts.begin(), parts.end(), [](const std::string& part) {
        return parse_integer(part).has_value();
      });
      if (parts.size() >= 2 && numbers) return word;
    }
  }
  return "";
}

std::string kernel_module_version() {
  const std::string version =
      parse_kernel_module_version(read_small_file("/proc/driver/nvidia/version"));
  if (!version.empty()) return version;
  return std::string(trim(read_small_file("/sys/module/nvidia/version")));
}

}  // namespace fatune::gpu
