// program.hpp - a stored kernel to machine code on a device that can be queued on a stream.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/driver.hpp"
#include "runtime/map_cache.hpp"
#include "runtime/stored_kernels.hpp"

namespace fatune::rt {

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
    CUlaunchConfig config{};        ///< without stream and attributes
    std::array<CUlaunchAttribute, 2> attributes{};
    std::vector<Argument> arguments;
  };
  Program(const Driver& driver, const KernelFacts& facts);
  Outcome<Done> load_stages(const StoredKernel& kernel, CUdevice device);
  Outcome<Done> add_stage(const KernelFacts& facts, const StageFacts& stage, CUdevice device);
  static Argument argument(const KernelFacts& facts, const std::string& name);
  Outcome<Done> prepare(const StageFacts& stage, CUkernel kernel, CUdevice device) const;

  const Driver& driver_;
  CUlibrary library_ = nullptr;
  std::vector<Stage> stages_;
  std::vector<std::size_t> scratch_offsets_;
  std::size_t scratch_bytes_ = 0;
  std::unique_ptr<MapCache> maps_;
};

}  // namespace fatune::rt
