// program.cpp: Opens the driver, loads cubins, prepares their entries and queues launches.
#include "runtime/program.hpp"

#include <algorithm>

#include <dlfcn.h>
#include <fmt/format.h>

#include "core/result.hpp"

namespace fatune::rt {
namespace {

constexpr std::size_t kMostArguments = 32;  ///< per stage; chosen, ours have at most 7
constexpr std::size_t kMostScratch = 16;    ///< per kernel; chosen, ours have at most 2

/// Returns the index in kTensorNames; kTensors for an unknown name.
std::size_t tensor_named(const std::string& name) {
  const auto found = std::ranges::find(kTensorNames, name);
  return static_cast<std::size_t>(found - kTensorNames.begin());
}

/// Allows loading during a stream capture, which otherwise refuses calls that may wait.
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
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;  ///< later the previous mode
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

/// Returns the index of the named item; the number of items for an unknown name.
template <typename Item>
std::size_t index_of(const std::vector<Item>& items, const std::string& name) {
  return static_cast<std::size_t>(std::ranges::find(items, name, &Item::name) - items.begin());
}

Failure bad(std::string message) { return {FATUNE_RT_BAD_ARGUMENT, std::move(message)}; }

CUdeviceptr address(const void* pointer) { return reinterpret_cast<CUdeviceptr>(pointer); }

/// Adds the named tensors in the kernel's order.
Outcome<Done> add_named(const fatune_rt_plan& plan, const fatune_rt_tensors& tensors,
                        Addresses& addresses) {
  if (plan.named.empty() != (tensors.named == nullptr))
    return bad(plan.named.empty() ? "tensors.named is not null, but the problem has none"
                                  : "tensors.named is null, but the problem has tensors");
  for (std::size_t i = 0; i < plan.named.size(); ++i) {
    constexpr CUdeviceptr kElementBytes = 4;
    const std::size_t place = plan.named[i];
    const CUdeviceptr found = address(tensors.named[place]);
    if (found == 0) return bad(fmt::format("tensors.named[{}] is null", place));
    if (found % kElementBytes != 0)
      return bad(fmt::format("tensors.named[{}]: {:#x} is no multiple of {} bytes", place, found,
                             kElementBytes));
    addresses[kTensors + i] = found;
  }
  return Done{};
}

/// Bytes, in the order of kTensorNames. The last three tensors are read element by element.
constexpr std::array<std::uint64_t, kTensors> kAlignments = {kTensorAlignment,
                                                             kTensorAlignment,
                                                             kTensorAlignment,
                                                             kTensorAlignment,
                                                             kTensorAlignment,
                                                             kTensorAlignment,
                                                             4,
                                                             4,
                                                             2};

Outcome<Addresses> addresses_of(const fatune_rt_plan& plan, const fatune_rt_tensors& tensors) {
  Addresses addresses = {address(tensors.q),       address(tensors.k),     address(tensors.v),
                         address(tensors.out),     address(tensors.lse),   address(tensors.bias),
                         address(tensors.lengths), address(tensors.alibi), address(tensors.sink)};
  for (std::size_t i = 0; i < kTensors; ++i) {
    if (addresses[i] % kAlignments[i] != 0) {
      return bad(fmt::format("tensors.{}: {:#x} is no multiple of {} bytes, as kernels need it",
                             kTensorNames[i], addresses[i], kAlignments[i]));
    }
    if (plan.has[i] && addresses[i] == 0)
      return bad(fmt::format("tensors.{} is null, but the problem has it", kTensorNames[i]));
    if (!plan.has[i] && addresses[i] != 0)
      return bad(fmt::format("tensors.{} is not null, but the problem has none", kTensorNames[i]));
  }
  FATUNE_TRY_STATUS(add_named(plan, tensors, addresses));
  return addresses;
}

Outcome<Done> check_scratch(const fatune_rt_plan& plan, const fatune_rt_tensors& tensors) {
  const std::size_t wanted = plan.program->scratch_bytes();
  if (tensors.scratch_bytes < wanted) {
    return bad(fmt::format("tensors.scratch_bytes is {}, but the plan needs {}",
                           tensors.scratch_bytes, wanted));
  }
  if (address(tensors.scratch) % kScratchAlignment == 0) return Done{};
  return bad(fmt::format("tensors.scratch is no multiple of {} bytes", kScratchAlignment));
}

Outcome<Done> queue_all(const fatune_rt_plan& plan, Addresses addresses, CUdeviceptr scratch,
                        CUstream stream) {
  for (std::int64_t i = 0; i < plan.fit.launches; ++i) {
    FATUNE_TRY_STATUS(plan.program->queue(addresses, scratch, stream));
    addresses[kQ] += static_cast<CUdeviceptr>(plan.parts.q);
    addresses[kK] += static_cast<CUdeviceptr>(plan.parts.k);
    addresses[kV] += static_cast<CUdeviceptr>(plan.parts.v);
    addresses[kOut] += static_cast<CUdeviceptr>(plan.parts.out);
    if (plan.has[kLse]) addresses[kLse] += static_cast<CUdeviceptr>(plan.parts.lse);
  }
  return Done{};
}

Outcome<Done> check_device(const fatune_rt_plan& plan) {
  FATUNE_TRY(const CUdevice device, current_device(*plan.driver));
  if (device == plan.device) return Done{};
  return bad(
      fmt::format("the plan is for device {}, but the current context is on device {}: "
                  "find a plan there, too",
                  plan.device, device));
}

}  // namespace

Outcome<SymbolSource> system_driver() {
  void* library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return Failure{FATUNE_RT_NO_DRIVER,
                   "no NVIDIA driver was found (libcuda.so.1 cannot be opened). Install the "
                   "driver, or, in a container, start it with access to the GPU (--gpus all)"};
  }
  return SymbolSource([library](const char* symbol) { return ::dlsym(library, symbol); });
}

Outcome<Driver> load_driver(const SymbolSource& symbols) {
  Driver driver;
  const std::string missing = gpu::fill(driver, symbols, gpu::NeededBy::kRuntime);
  if (!missing.empty()) {
    return Failure{FATUNE_RT_NO_DRIVER,
                   fmt::format("the NVIDIA driver is too old: it lacks {}; libfatune_rt needs a "
                               "driver for CUDA 12.0 or newer (525 or newer)",
                               missing)};
  }
  const CUresult code = driver.init(0);
  if (code == CUDA_SUCCESS) return driver;
  return Failure{FATUNE_RT_NO_DRIVER,
                 fmt::format("the NVIDIA driver does not start, or finds no GPU: cuInit says {}; "
                             "`nvidia-smi` and CUDA_VISIBLE_DEVICES tell more",
                             gpu::describe(driver, code)),
                 static_cast<std::int32_t>(code)};
}

Outcome<Done> check(const Driver& driver, CUresult code, std::string_view doing) {
  if (code == CUDA_SUCCESS) return Done{};
  return Failure{FATUNE_RT_DRIVER_FAILED, fmt::format("{}: {}", doing, gpu::describe(driver, code)),
                 static_cast<std::int32_t>(code)};
}

Outcome<CUdevice> current_device(const Driver& driver) {
  CUdevice device = 0;
  const CUresult code = driver.context_device(&device);
  if (code == CUDA_SUCCESS) return device;
  if (code == CUDA_ERROR_INVALID_CONTEXT) {
    return Failure{FATUNE_RT_BAD_ARGUMENT,
                   "no CUDA context is current on this thread: call cudaSetDevice, or "
                   "cuCtxSetCurrent, before",
                   static_cast<std::int32_t>(code)};
  }
  FATUNE_TRY_STATUS(check(driver, code, "cannot ask for the current device"));
  return device;
}

MapCache::MapCache(const Driver& driver, std::vector<TensorMapFacts> maps)
    : driver_(driver), maps_(std::move(maps)) {
  FATUNE_CHECK(maps_.size() <= kMostMaps, "Program::load refuses kernels with more");
}

Outcome<Done> MapCache::encode(const Addresses& addresses, Maps& maps) const {
  for (std::size_t i = 0; i < maps_.size(); ++i) {
    const std::size_t tensor = tensor_named(maps_[i].tensor);
    FATUNE_CHECK(tensor < kTensors, "the facts' reader knows the tensors of maps");
    const CUresult code = gpu::encode_tensor_map(driver_, maps_[i], addresses[tensor], &maps[i]);
    if (code != CUDA_SUCCESS)
      return check(driver_, code, "cannot encode tensor map " + maps_[i].name);
  }
  return Done{};
}

Outcome<Done> MapCache::fill(const Addresses& addresses, Maps& maps) {
  if (maps_.empty()) return Done{};
  const std::lock_guard guard(lock_);
  Entry* oldest = entries_.data();
  for (Entry& entry : entries_) {
    if (entry.used != 0 && entry.addresses == addresses) {
      entry.used = ++turn_;
      std::copy_n(entry.maps.begin(), maps_.size(), maps.begin());
      return Done{};
    }
    if (entry.used < oldest->used) oldest = &entry;
  }
  oldest->used = 0;  // marks the entry as incomplete
  FATUNE_TRY_STATUS(encode(addresses, oldest->maps));
  oldest->addresses = addresses;
  oldest->used = ++turn_;
  std::copy_n(oldest->maps.begin(), maps_.size(), maps.begin());
  return Done{};
}

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
  const gpu::LaunchShape shape = gpu::shape_of(plan);
  for (const gpu::FunctionSetting& setting : gpu::settings_of(shape)) {
    FATUNE_TRY_STATUS(check(
        driver_, driver_.set_kernel_attribute(setting.attribute, setting.value, kernel, device),
        fmt::format("cannot allow {} {}", plan.entry, setting.what)));
  }
  CUfunction function = nullptr;  // this call loads the code now instead of at the first launch
  FATUNE_TRY_STATUS(check(driver_, driver_.kernel_function(&function, kernel),
                          fmt::format("cannot load {} into the context", plan.entry)));
  stage.function = reinterpret_cast<CUfunction>(kernel);
  stage.config = gpu::LaunchConfig(shape);
  for (const std::string& name : plan.arguments) stage.arguments.push_back(argument(facts, name));
  return check_count(stage, kernel);
}

/// The driver reads as many arguments as the machine code has. Drivers before CUDA 12.4 do not say.
Outcome<Done> Program::check_count(const Stage& stage, CUkernel kernel) const {
  if (driver_.kernel_parameter == nullptr) return Done{};
  const auto has = [&](std::size_t index) {
    std::size_t offset = 0, bytes = 0;
    return driver_.kernel_parameter(kernel, index, &offset, &bytes) == CUDA_SUCCESS;
  };
  const std::size_t count = stage.arguments.size();
  if ((count == 0 || has(count - 1)) && !has(count)) return Done{};
  return Failure{FATUNE_RT_BAD_FILE,
                 fmt::format("{} takes {} than the {} arguments of the wisdom: export it again",
                             stage.entry, has(count) ? "more" : "fewer", count)};
}

Program::Argument Program::argument(const KernelFacts& facts, const std::string& name) {
  const auto made = [](Argument::Kind kind, std::size_t index) {
    return Argument{kind, static_cast<std::uint8_t>(index)};
  };
  const std::size_t tensor = tensor_named(name);
  if (tensor < kTensors) return made(Argument::kAddress, tensor);
  if (is_named_tensor(name)) {
    const auto& named = facts.problem.as_attention().tensors;
    const auto found = std::ranges::find(named, name, argument_of);
    return made(Argument::kAddress, kTensors + static_cast<std::size_t>(found - named.begin()));
  }
  const std::size_t scratch = index_of(facts.scratch, name);
  if (scratch < facts.scratch.size()) return made(Argument::kScratch, scratch);
  return made(Argument::kMap, index_of(facts.tensor_maps, name));  // the name was checked
}

Outcome<Done> Program::queue(const Addresses& addresses, CUdeviceptr scratch,
                             CUstream stream) const {
  Maps maps;
  Addresses mapped = addresses;
  // No map is of an optional tensor, which may differ in each launch.
  std::fill(mapped.begin() + kBias, mapped.end(), 0);
  FATUNE_TRY_STATUS(maps_->fill(mapped, maps));
  std::array<CUdeviceptr, kMostScratch> parts;
  for (std::size_t i = 0; i < scratch_offsets_.size(); ++i)
    parts[i] = scratch + scratch_offsets_[i];
  std::array<void*, kMostArguments> values{};  // read only, despite the driver's type
  for (const Stage& stage : stages_) {
    for (std::size_t i = 0; i < stage.arguments.size(); ++i) {
      const Argument argument = stage.arguments[i];
      const void* value = &addresses[0] + argument.index;
      if (argument.kind == Argument::kScratch) value = &parts[argument.index];
      if (argument.kind == Argument::kMap) value = &maps[argument.index];
      values[i] = const_cast<void*>(value);
    }
    const CUlaunchConfig config = stage.config.on(stream);
    const CUresult code = driver_.launch(&config, stage.function, values.data(), nullptr);
    if (code != CUDA_SUCCESS) return check(driver_, code, "cannot launch " + stage.entry);
  }
  return Done{};
}

Outcome<Done> launch(const fatune_rt_plan& plan, const fatune_rt_tensors& tensors,
                     CUstream stream) {
  FATUNE_TRY_STATUS(check_device(plan));
  FATUNE_TRY(const Addresses addresses, addresses_of(plan, tensors));
  if (plan.program->scratch_bytes() == 0) return queue_all(plan, addresses, 0, stream);
  if (tensors.scratch != nullptr) {
    FATUNE_TRY_STATUS(check_scratch(plan, tensors));
    return queue_all(plan, addresses, address(tensors.scratch), stream);
  }
  CUdeviceptr scratch = 0;
  const std::size_t bytes = plan.program->scratch_bytes();
  if (const CUresult code = plan.driver->allocate_async(&scratch, bytes, stream);
      code != CUDA_SUCCESS) {
    return check(*plan.driver, code,
                 fmt::format("cannot allocate {} bytes of scratch memory", bytes));
  }
  Outcome<Done> queued = queue_all(plan, addresses, scratch, stream);
  const CUresult freed = plan.driver->free_async(scratch, stream);
  if (!queued) return queued;
  return check(*plan.driver, freed, "cannot free the scratch memory");
}

}  // namespace fatune::rt
