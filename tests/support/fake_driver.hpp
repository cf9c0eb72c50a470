// fake_driver.hpp - the CUDA driver's entry points over host memory, in place of libcuda: kernels
// are host functions, and time is a number.
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

/// One fake driver lives at a time, in a test; its entry points are plain functions that find it.
/// It has one stream, whose work is done when it is queued, or kept in the graph that is captured.
class FakeDriver {
 public:
  using Work = std::function<void()>;

  /// A kernel, in every module and library that is loaded.
  struct Entry {
    std::string name;
    std::vector<std::size_t> argument_bytes;
    std::function<Work(void** arguments)> bind;  ///< copies the arguments
    double us = 10;                              ///< that a launch takes
    CUresult refusal = CUDA_SUCCESS;             ///< of every launch
    bool waits = true;                 ///< launched as dependent: for the kernel in front of it
    bool launches_dependents = false;  ///< a dependent launch behind it may begin at once
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

  /// All symbols, save for those in `missing`.
  gpu::SymbolSource symbols();

  /// Makes or replaces an entry that runs `kernel`.
  template <typename... Arguments>
  Entry& define(const std::string& name, std::function<void(Arguments...)> kernel) {
    Entry& entry = entries[name];
    entry = {.name = name, .argument_bytes = {sizeof(Arguments)...}, .bind = {}};
    entry.bind = [kernel = std::move(kernel)](void** values) -> Work {
      return bound(kernel, values, std::index_sequence_for<Arguments...>());
    };
    return entry;
  }

  // What the driver pretends.
  CUdevice device = 0;  ///< of the current context; -1: no context is current
  int major = 9, minor = 0;
  int memory_clock_khz = 3'201'000;
  std::map<std::string, CUresult> failing;  ///< symbol to what it returns
  std::vector<std::string> missing;         ///< symbols
  std::map<std::string, Entry> entries;

  // The state of the device; kernels may change it.
  double now_us = 0;
  bool hung = false;                 ///< nothing that was queued since comes to an end
  CUresult broken = CUDA_SUCCESS;    ///< of every call from then on
  std::size_t persisting_bytes = 0;  ///< set aside in the L2 cache
  std::optional<std::vector<std::vector<std::byte>>> freed;  ///< what memory held, if a test asks

  // What it was asked. The lock is for tests with threads.
  std::mutex lock;
  std::vector<std::string> calls;  ///< "cuLibraryLoadData machine code of ..."
  std::vector<Launch> launches;
  std::vector<Encoded> encoded;
  std::size_t count(const std::string& beginning) const;  ///< of calls that begin so

  // For the entry points.
  struct Graph {
    std::vector<Work> work;
    std::size_t programmatic = 0;  ///< of the edges between two that follow each other
  };
  std::optional<Graph> captured;  ///< while a graph is
  Work pending;                 ///< of the kernel that launched its dependents and is not done yet
  bool runs_dependent = false;  ///< how the kernel that runs now was launched

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
