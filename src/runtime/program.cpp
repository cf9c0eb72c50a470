// program.cpp - loads a cubin, prepares its entries as the facts say, and queues them.
#include "runtime/program.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace fatune::rt {
namespace {

constexpr std::size_t kMostArguments = 32;  ///< of a stage; chosen, ours have 7 at most
constexpr std::size_t kMostScratch = 16;    ///< buffers of a kernel; chosen, ours have 2 at most
constexpr std::size_t kScratchAlignment = 256;  ///< as cuMemAlloc aligns, where kernels were tuned
constexpr std::int64_t kPortableCluster = 8;    ///< CUDA: larger clusters need an attribute

std::int64_t blocks(const std::array<std::int64_t, 3>& extent) {
  return extent[0] * extent[1] * extent[2];
}

/// While a stream is captured, calls that might wait are refused; loading is none of the graph's.
class CaptureAllowsLoading {
 public:
  explicit CaptureAllowsLoading(const Driver& driver) : driver_(driver) {
    driver_.capture_mode(&mode_);
  }
  CaptureAllowsLoading(const CaptureAllowsLoading&) = delete;
  CaptureAllowsLoading& operator=(const CaptureAllowsLoading&) = delete;
  ~CaptureAllowsLoading() { driver_.capture_mode(&mode_); }

 private:
  const Driver& driver_;
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;  ///< after the exchange the old one
};

Outcome<Done> check_sizes(const KernelFacts& facts) {
  const auto too_many = [&](std::size_t count, const char* what, std::size_t most) -> Failure {
    return {FATUNE_RT_BAD_FILE, fmt::format("{} of the wisdom has {} {}, but this library takes {}",
                                            facts.kernel, count, what, most)};
  };
  if (facts.tensor_maps.size() > kMostMaps) {
    return too_many(facts.tensor_maps.size(), "tensor maps", kMostMaps);
  }
  if (facts.scratch.size() > kMostScratch) {
    return too_many(facts.scratch.size(), "scratch buffers", kMostScratch);
  }
  for (const StageFacts& stage : facts.stages) {
    if (stage.arguments.size() > kMostArguments) {
      return too_many(stage.arguments.size(), "arguments", kMostArguments);
    }
  }
  return Done{};
}

/// Index of the item with that name; its size when there is none.
template <typename Items>
std::size_t index_of(const Items& items, const std::string& name) {
  std::size_t i = 0;
  while (i < items.size() && items[i].name != name) ++i;
  return i;
}

}  // namespace

Program::Program(const Driver& driver, const KernelFacts& facts)
    : driver_(driver), maps_(std::make_unique<MapCache>(driver, facts.tensor_maps)) {
  for (const ScratchFacts& scratch : facts.scratch) {
    scratch_offsets_.push_back(scratch_bytes_);
    const auto bytes = static_cast<std::size_t>(scratch.bytes);
    scratch_bytes_ += (bytes + kScratchAlignment - 1) / kScratchAlignment * kScratchAlignment;
  }
}

Program::~Program() {
  if (library_ != nullptr) driver_.library_unload(library_);
}

Outcome<std::unique_ptr<Program>> Program::load(const Driver& driver, const StoredKernel& kernel,
                                                CUdevice device) {
  FATUNE_TRY_STATUS(check_sizes(kernel.facts));
  std::unique_ptr<Program> program(new Program(driver, kernel.facts));
  const CaptureAllowsLoading scope(driver);
  FATUNE_TRY_STATUS(program->load_stages(kernel, device));
  return program;
}

Outcome<Done> Program::load_stages(const StoredKernel& kernel, CUdevice device) {
  const CUresult code = driver_.library_load(&library_, kernel.cubin.data(), nullptr, nullptr, 0,
                                             nullptr, nullptr, 0);
  FATUNE_TRY_STATUS(check(driver_, code, fmt::format("cannot load {}", kernel.facts.cubin.file)));
  for (const StageFacts& stage : kernel.facts.stages) {
    FATUNE_TRY_STATUS(add_stage(kernel.facts, stage, device));
  }
  return Done{};
}

Outcome<Done> Program::add_stage(const KernelFacts& facts, const StageFacts& plan,
                                 CUdevice device) {
  Stage& stage = stages_.emplace_back();
  stage.entry = plan.entry;
  CUkernel kernel = nullptr;
  FATUNE_TRY_STATUS(check(driver_, driver_.library_kernel(&kernel, library_, plan.entry.c_str()),
                          fmt::format("cannot find {} in {}", plan.entry, facts.cubin.file)));
  FATUNE_TRY_STATUS(prepare(plan, kernel, device));
  stage.function = reinterpret_cast<CUfunction>(kernel);
  const auto narrow = [](std::int64_t size) { return static_cast<unsigned>(size); };
  CUlaunchConfig& config = stage.config;
  config.gridDimX = narrow(plan.grid[0]);
  config.gridDimY = narrow(plan.grid[1]);
  config.gridDimZ = narrow(plan.grid[2]);
  config.blockDimX = narrow(plan.block[0]);
  config.blockDimY = narrow(plan.block[1]);
  config.blockDimZ = narrow(plan.block[2]);
  config.sharedMemBytes = narrow(plan.shared_bytes);
  if (blocks(plan.cluster) > 1) {
    CUlaunchAttribute& cluster = stage.attributes[config.numAttrs++];
    cluster.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    cluster.value.clusterDim = {narrow(plan.cluster[0]), narrow(plan.cluster[1]),
                                narrow(plan.cluster[2])};
  }
  if (plan.dependent) {
    CUlaunchAttribute& dependent = stage.attributes[config.numAttrs++];
    dependent.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
    dependent.value.programmaticStreamSerializationAllowed = 1;
  }
  for (const std::string& name : plan.arguments) stage.arguments.push_back(argument(facts, name));
  return Done{};
}

Program::Argument Program::argument(const KernelFacts& facts, const std::string& name) {
  const auto made = [](Argument::Kind kind, std::size_t index) {
    return Argument{kind, static_cast<std::uint8_t>(index)};
  };
  const auto tensor = std::find(kTensorNames.begin(), kTensorNames.end(), name);
  if (tensor != kTensorNames.end()) {
    return made(Argument::kAddress, static_cast<std::size_t>(tensor - kTensorNames.begin()));
  }
  const std::size_t scratch = index_of(facts.scratch, name);
  if (scratch < facts.scratch.size()) return made(Argument::kScratch, scratch);
  return made(Argument::kMap, index_of(facts.tensor_maps, name));  // the facts' reader saw to it
}

Outcome<Done> Program::prepare(const StageFacts& stage, CUkernel kernel, CUdevice device) const {
  const auto set = [&](CUfunction_attribute attribute, std::int64_t value, const char* what) {
    const CUresult code =
        driver_.set_kernel_attribute(attribute, static_cast<int>(value), kernel, device);
    return check(driver_, code, fmt::format("cannot allow {} {} {}", stage.entry, value, what));
  };
  FATUNE_TRY_STATUS(set(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, stage.shared_bytes,
                        "bytes of dynamic shared memory"));
  if (stage.shared_bytes > 0) {
    FATUNE_TRY_STATUS(set(CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT,
                          CU_SHAREDMEM_CARVEOUT_MAX_SHARED, "% of the L1 as shared memory"));
  }
  if (blocks(stage.cluster) > kPortableCluster) {
    FATUNE_TRY_STATUS(set(CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1,
                          "cluster of more than 8 blocks"));
  }
  CUfunction function = nullptr;  // loads the code now rather than at the first launch
  return check(driver_, driver_.kernel_function(&function, kernel),
               fmt::format("cannot load {} into the context", stage.entry));
}

Outcome<Done> Program::queue(const Addresses& addresses, CUdeviceptr scratch,
                             CUstream stream) const {
  Maps maps;
  FATUNE_TRY_STATUS(maps_->fill(addresses, maps));
  std::array<CUdeviceptr, kMostScratch> parts;
  for (std::size_t i = 0; i < scratch_offsets_.size(); ++i)
    parts[i] = scratch + scratch_offsets_[i];
  std::array<void*, kMostArguments> values;  // read only, though the driver's type does not say so
  for (const Stage& stage : stages_) {
    for (std::size_t i = 0; i < stage.arguments.size(); ++i) {
      const Argument argument = stage.arguments[i];
      const void* value = &addresses[0] + argument.index;
      if (argument.kind == Argument::kScratch) value = &parts[argument.index];
      if (argument.kind == Argument::kMap) value = &maps[argument.index];
      values[i] = const_cast<void*>(value);
    }
    CUlaunchConfig config = stage.config;
    config.hStream = stream;
    config.attrs = const_cast<CUlaunchAttribute*>(stage.attributes.data());
    const CUresult code = driver_.launch(&config, stage.function, values.data(), nullptr);
    if (code != CUDA_SUCCESS) return check(driver_, code, "cannot launch " + stage.entry);
  }
  return Done{};
}

}  // namespace fatune::rt
