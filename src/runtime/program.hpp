// program.hpp: Declares a stored kernel loaded on a device, and the plan that launches it.
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

/// Returns the symbols of libcuda.so.1, which stays open; a failure is NO_DRIVER.
Outcome<SymbolSource> system_driver();
/// Fills the table and calls cuInit. A driver that is too old or finds no device is NO_DRIVER.
Outcome<Driver> load_driver(const SymbolSource& symbols);

/// Returns DRIVER_FAILED for a failed call: "cannot launch fa_mma: CUDA_ERROR_... (701): ...".
Outcome<Done> check(const Driver& driver, CUresult code, std::string_view doing);

/// Returns the device of this thread's current context; BAD_ARGUMENT without a context.
Outcome<CUdevice> current_device(const Driver& driver);

/// Tensors of a launch, in the order of kTensorNames.
enum Tensor : std::uint8_t { kQ, kK, kV, kOut, kLse, kBias, kLengths, kAlibi, kSink, kTensors };
constexpr std::array<const char*, kTensors> kTensorNames = {
    "q", "k", "v", "out", "lse", "bias", "lengths", "alibi", "sink"};
/// Addresses of these, and of the kernel's named tensors.
using Addresses = std::array<CUdeviceptr, kTensors + kMostTensors>;

constexpr std::size_t kMostMaps = 8;  ///< per kernel; our kernels have at most 4
using Maps = std::array<CUtensorMap, kMostMaps>;

/// Caches the tensor maps of the latest sets of addresses. Maps depend only on addresses and the
/// kernel's facts, so entries stay valid. The cache is thread-safe.
class MapCache {
 public:
  /// `maps` must be checked by read_value<KernelFacts> and have at most kMostMaps items.
  MapCache(const Driver& driver, std::vector<TensorMapFacts> maps);

  /// Writes the kernel's maps in the order of its facts; further elements stay unchanged.
  Outcome<Done> fill(const Addresses& addresses, Maps& maps);

 private:
  struct Entry {
    Addresses addresses{};
    std::uint64_t used = 0;  ///< turn of the last use; 0: unused
    Maps maps{};
  };
  Outcome<Done> encode(const Addresses& addresses, Maps& maps) const;

  const Driver& driver_;
  std::vector<TensorMapFacts> maps_;
  std::mutex lock_;
  std::array<Entry, 8> entries_;  // sets of addresses; chosen
  std::uint64_t turn_ = 0;
};

/// Alignment of cuMemAlloc, with which kernels were tuned; see fatune_rt.h.
constexpr std::size_t kScratchAlignment = 256;

/// A loaded kernel. It is immutable except for the locked cache of tensor maps, so any number of
/// threads may queue it.
class Program {
 public:
  /// Loads the machine code and prepares launches on the current context's device. A stream may be
  /// capturing.
  static Outcome<std::unique_ptr<Program>> load(const Driver& driver, const StoredKernel& kernel,
                                                CUdevice device);
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  ~Program();

  /// Queues all stages in order. `scratch` has scratch_bytes(); it may be 0 if these are 0.
  Outcome<Done> queue(const Addresses& addresses, CUdeviceptr scratch, CUstream stream) const;
  std::size_t scratch_bytes() const { return scratch_bytes_; }

 private:
  /// Source of a launch argument: an address, a part of the scratch memory, or a tensor map.
  struct Argument {
    enum Kind : std::uint8_t { kAddress, kScratch, kMap } kind = kAddress;
    std::uint8_t index = 0;
  };
  struct Stage {
    std::string entry;
    CUfunction function = nullptr;  ///< a CUkernel, which the driver accepts as function
    gpu::LaunchConfig config;
    std::vector<Argument> arguments;
  };
  Program(const Driver& driver, const KernelFacts& facts);
  Outcome<Done> load_stages(const StoredKernel& kernel, CUdevice device);
  Outcome<Done> add_stage(const KernelFacts& facts, const StageFacts& plan, CUdevice device);
  Outcome<Done> check_count(const Stage& stage, CUkernel kernel) const;
  static Argument argument(const KernelFacts& facts, const std::string& name);

  const Driver& driver_;
  CUlibrary library_ = nullptr;
  std::vector<Stage> stages_;
  std::vector<std::size_t> scratch_offsets_;
  std::size_t scratch_bytes_ = 0;
  std::unique_ptr<MapCache> maps_;
};

}  // namespace fatune::rt

/// A loaded kernel for a problem; immutable, owned by its wisdom.
struct fatune_rt_plan {
  const fatune::rt::Driver* driver = nullptr;
  const fatune::rt::Program* program = nullptr;
  std::size_t kernel = 0;  ///< index in the wisdom
  CUdevice device = 0;
  fatune::rt::Fit fit;
  fatune::rt::PartBytes parts;
  std::array<bool, fatune::rt::kTensors> has{};  ///< the tensors of the problem
  std::vector<std::size_t> named;  ///< places of the kernel's named tensors among the problem's
};

namespace fatune::rt {

/// Queues all launches of the plan. Scratch memory that `tensors` lacks is allocated and freed in
/// stream order.
Outcome<Done> launch(const fatune_rt_plan& plan, const fatune_rt_tensors& tensors, CUstream stream);

}  // namespace fatune::rt
