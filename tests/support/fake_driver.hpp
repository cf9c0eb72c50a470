// fake_driver.hpp: Replaces libcuda: kernels are host functions, and time is a number.
#pragma once

#include <cstddef>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "gpu/driver/table.hpp"

namespace fatune::test {

/// A driver whose entry points are plain functions, so only one may exist at a time. Its only
/// stream does work when queued, or stores it in the capturing graph.
class FakeDriver {
 public:
  using Work = std::function<void()>;

  /// A kernel in every loaded module and library.
  struct Entry {
    std::string name;
    std::vector<std::size_t> argument_bytes;
    std::function<Work(void** arguments)> bind;  ///< copies the arguments
    double us = 10;                              ///< duration of a launch
    CUresult refusal = CUDA_SUCCESS;             ///< result of every launch
    bool waits = true;                 ///< whether a dependent launch waits for its predecessor
    bool launches_dependents = false;  ///< whether a dependent launch behind it may begin at once
  };
  struct Launch {
    std::string entry;
    CUlaunchConfig config{};
    std::vector<CUlaunchAttribute> attributes;
    /// The first 8 bytes of each argument: an address, or the tensor that a map covers.
    std::vector<CUdeviceptr> addresses;
  };
  struct Encoded {
    CUtensorMapDataType element;
    CUdeviceptr address;
    std::vector<cuuint64_t> sizes, strides;
    std::vector<cuuint32_t> box;
    CUtensorMapSwizzle swizzle;
  };

  FakeDriver();
  FakeDriver(const FakeDriver&) = delete;
  FakeDriver& operator=(const FakeDriver&) = delete;
  ~FakeDriver();

  /// Returns all symbols except `missing`.
  gpu::SymbolSource symbols();

  /// Adds or replaces an entry that runs `kernel`.
  template <typename... Arguments>
  Entry& define(const std::string& name, std::function<void(Arguments...)> kernel) {
    Entry& entry = entries[name];
    entry = {.name = name, .argument_bytes = {sizeof(Arguments)...}, .bind = {}};
    entry.bind = [kernel = std::move(kernel)](void** values) -> Work {
      return bound(kernel, values, std::index_sequence_for<Arguments...>());
    };
    return entry;
  }

  // Settings of the driver.
  CUdevice device = 0;  ///< device of the current context; -1: no current context
  int major = 9, minor = 0;
  int memory_clock_khz = 3'201'000;
  std::map<std::string, CUresult> failing;  ///< results by symbol
  std::vector<std::string> missing;         ///< symbols
  std::map<std::string, Entry> entries;
  std::map<std::string, std::vector<std::byte>> constants;  ///< __constant__ variables

  // State of the device, which kernels may change.
  double now_us = 0;
  bool hung = false;                 ///< whether newly queued work never ends
  CUresult broken = CUDA_SUCCESS;    ///< result of every further call
  std::size_t persisting_bytes = 0;  ///< set aside in the L2 cache
  /// Contents of freed memory, if a test sets it.
  std::optional<std::vector<std::vector<std::byte>>> freed;

  // Recorded calls. The lock is for tests with threads.
  std::mutex lock;
  std::vector<std::string> calls;  ///< such as "cuLibraryLoadData machine code of ..."
  std::vector<Launch> launches;
  std::vector<Encoded> encoded;
  std::size_t count(const std::string& beginning) const;  ///< number of calls with this beginning

  // State for the entry points.
  struct Graph {
    std::vector<Work> work;
    std::size_t programmatic = 0;  ///< number of programmatic edges between neighbours
  };
  std::optional<Graph> captured;  ///< set while a graph is capturing
  Work pending;                   ///< rest of the kernel that has launched its dependents
  bool runs_dependent = false;    ///< whether the running kernel was launched as dependent

 private:
  template <typename... Arguments, std::size_t... kIndex>
  static Work bound(const std::function<void(Arguments...)>& kernel, void** values,
                    std::index_sequence<kIndex...>) {
    std::tuple<Arguments...> copies;
    (std::memcpy(&std::get<kIndex>(copies), values[kIndex], sizeof(Arguments)), ...);
    return [kernel, copies] { std::apply(kernel, copies); };
  }
};

}  // namespace fatune::test
