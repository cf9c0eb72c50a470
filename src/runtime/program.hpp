// program.hpp - the driver, a stored kernel as machine code on a device, a plan that queues it.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/driver/launch_config.hpp"
#include "runtime/choice.hpp"

namespace fatune::rt {

using gpu::Driver;
using gpu::SymbolSource;

/// Of libcuda.so.1, which stays open; a failure is NO_DRIVER.
Outcome<SymbolSource> system_driver();
/// Fills the table and starts the driver (cuInit). Too old a driver, or one that finds no device,
/// is NO_DRIVER.
Outcome<Driver> load_driver(const SymbolSource& symbols);

/// Done for success, else DRIVER_FAILED: "cannot launch fa_mma: CUDA_ERROR_... (701): ...".
Outcome<Done> check(const Driver& driver, CUresult code, std::string_view doing);

/// Of the context that is current on this thread; without one BAD_ARGUMENT.
Outcome<CUdevice> current_device(const Driver& driver);

/// Where a launch reads and writes; the order is that of kTensorNames.
enum Tensor : std::uint8_t { kQ, kK, kV, kOut, kLse, kTensors };
constexpr std::array<const char*, kTensors> kTensorNames = {"q", "k", "v", "out", "lse"};
using Addresses = std::array<CUdeviceptr, kTensors>;

constexpr std::size_t kMostMaps = 8;  ///< of a kernel; ours have 4 at most
using Maps = std::array<CUtensorMap, kMostMaps>;

/// Keeps the maps of the last few sets of addresses. A map depends on nothing but the address and
/// the kernel's facts, so none ever goes out of date. Any number of threads.
class MapCache {
 public:
  /// The facts were read by from_json<KernelFacts>, which checks them; at most kMostMaps.
  MapCache(const Driver& driver, std::vector<TensorMapFacts> maps);

  /// The kernel's maps, in the order of its facts; the rest of `maps` is left alone.
  Outcome<Done> fill(const Addresses& addresses, Maps& maps);

 private:
  struct Entry {
    Addresses addresses{};
    std::uint64_t used = 0;  ///< turn of the last use; 0: never
    Maps maps{};
  };
  Outcome<Done> encode(const Addresses& addresses, Maps& maps) const;

  const Driver& driver_;
  std::vector<TensorMapFacts> maps_;
  std::mutex lock_;
  std::array<Entry, 8> entries_;  // chosen: more sets than a decoder's layers would share a kernel
  std::uint64_t turn_ = 0;
};

/// As cuMemAlloc aligns, where kernels were tuned; see fatune_rt.h.
constexpr std::size_t kScratchAlignment = 256;

/// Owns what was loaded. Its parts never change once it is loaded, apart from the cache of tensor
/// maps, which has a lock: any number of threads may queue it.
class Program {
 public:
  /// Loads the machine code and prepares its launches on the current context's device. Allowed
  /// while a stream is captured.
  static Outcome<std::unique_ptr<Program>> load(const Driver& driver, const StoredKernel& kernel,
                                                CUdevice device);
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  ~Program();

  /// All stages, in order. `scratch` has scratch_bytes(), or is 0 when these are.
  Outcome<Done> queue(const Addresses& addresses, CUdeviceptr scratch, CUstream stream) const;
  std::size_t scratch_bytes() const { return scratch_bytes_; }

 private:
  /// Which value a launch passes: an address, a part of the scratch memory, or a tensor map.
  struct Argument {
    enum Kind : std::uint8_t { kAddress, kScratch, kMap } kind = kAddress;
    std::uint8_t index = 0;
  };
  struct Stage {
    std::string entry;
    CUfunction function = nullptr;  ///< a CUkernel, which the driver takes in its place
    gpu::LaunchConfig config;
    std::vector<Argument> arguments;
  };
  Program(const Driver& driver, const KernelFacts& facts);
  Outcome<Done> load_stages(const StoredKernel& kernel, CUdevice device);
  Outcome<Done> add_stage(const KernelFacts& facts, const StageFacts& plan, CUdevice device);
  static Argument argument(const KernelFacts& facts, const std::string& name);

  const Driver& driver_;
  CUlibrary library_ = nullptr;
  std::vector<Stage> stages_;
  std::vector<std::size_t> scratch_offsets_;
  std::size_t scratch_bytes_ = 0;
  std::unique_ptr<MapCache> maps_;
};

}  // namespace fatune::rt

/// A chosen kernel, loaded. The wisdom that made it owns it; never changes.
struct fatune_rt_plan {
  const fatune::rt::Driver* driver = nullptr;
  const fatune::rt::Program* program = nullptr;
  std::size_t kernel = 0;  ///< index in the wisdom
  CUdevice device = 0;
  fatune::rt::Fit fit;
  fatune::rt::PartBytes parts;
  bool lse = false;
};

namespace fatune::rt {

/// All launches of the plan. Memory that the plan needs and the tensors lack is allocated and freed
/// in stream order.
Outcome<Done> launch(const fatune_rt_plan& plan, const fatune_rt_tensors& tensors, CUstream stream);

}  // namespace fatune::rt
