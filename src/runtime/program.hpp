// program.hpp - a stored kernel to machine code on a device that can be queued on a stream.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "gpu/driver/launch_config.hpp"
#include "runtime/driver.hpp"
#include "runtime/stored_kernels.hpp"

namespace fatune::rt {

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
