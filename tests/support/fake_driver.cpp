// fake_driver.cpp: Implements driver calls on host memory and host functions.
#include "support/fake_driver.hpp"

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

#include "core/result.hpp"

namespace fatune::test {
namespace {

using Work = FakeDriver::Work;
using Entry = FakeDriver::Entry;

constexpr CUdeviceptr kAsyncAllocation = 0xa0000000;
constexpr int kMostSharedBytes = 227 << 10;
constexpr double kSmallWorkUs = 0.5;  // of a copy or fill
constexpr std::size_t kAlignment = 256;

FakeDriver* current = nullptr;

struct FakeEvent {
  bool done = true;
  double us = 0;
};
struct FakeMemory {
  std::size_t bytes = 0;
};
using FakeGraph = FakeDriver::Graph;

/// An arbitrary non-null address.
template <typename Handle>
Handle some() {
  return reinterpret_cast<Handle>(current);
}

/// Records the call and returns its result.
CUresult note(const char* symbol, const std::string& detail = "") {
  const std::lock_guard guard(current->lock);
  current->calls.push_back(detail.empty() ? symbol : fmt::format("{} {}", symbol, detail));
  const auto failing = current->failing.find(symbol);
  return failing == current->failing.end() ? current->broken : failing->second;
}

void finish_pending() {
  if (const Work work = std::exchange(current->pending, nullptr)) work();
}

/// Does the work now. A capturing graph stores the work instead, and a hung device ignores it.
CUresult queue(Work work) {
  const std::lock_guard guard(current->lock);
  if (current->captured) {
    current->captured->work.push_back(std::move(work));
  } else if (!current->hung) {
    work();
  }
  return current->broken;
}

CUresult queue_small(std::function<void()> work) {
  return queue([work = std::move(work)] {
    finish_pending();
    if (current->hung) return;
    work();
    current->now_us += kSmallWorkUs;
  });
}

void* host(CUdeviceptr address) { return reinterpret_cast<void*>(address); }

// ---- driver, device, context

CUresult init(unsigned) { return note("cuInit"); }
CUresult driver_version(int* version) {
  *version = 13000;
  return note("cuDriverGetVersion");
}
CUresult error_name(CUresult code, const char** text) {
  *text = code == CUDA_ERROR_OUT_OF_MEMORY     ? "CUDA_ERROR_OUT_OF_MEMORY"
          : code == CUDA_ERROR_ILLEGAL_ADDRESS ? "CUDA_ERROR_ILLEGAL_ADDRESS"
                                               : "CUDA_ERROR_FAKE";
  return CUDA_SUCCESS;
}
CUresult error_string(CUresult, const char** text) {
  *text = "as told";
  return CUDA_SUCCESS;
}
CUresult device_count(int* count) {
  *count = 1;
  return note("cuDeviceGetCount");
}
CUresult device(CUdevice* device, int ordinal) {
  *device = ordinal;
  return note("cuDeviceGet");
}
CUresult device_name(char* name, int length, CUdevice) {
  std::strncpy(name, "Fake GPU", static_cast<std::size_t>(length));
  return note("cuDeviceGetName");
}
CUresult device_uuid(CUuuid* uuid, CUdevice) {
  *uuid = {};
  return note("cuDeviceGetUuid");
}
CUresult device_pci_bus_id(char* id, int length, CUdevice) {
  std::strncpy(id, "FFFF:FF:FF.0", static_cast<std::size_t>(length));
  return note("cuDeviceGetPCIBusId");
}
/// Pretends to be an H200 with a small L2 cache, because overwriting the cache takes test time.
CUresult device_attribute(int* value, CUdevice_attribute attribute, CUdevice) {
  const std::map<CUdevice_attribute, int> values = {
      {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, current->major},
      {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, current->minor},
      {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 132},
      {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, kMostSharedBytes},
      {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, 228 << 10},
      {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024},
      {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 2048},
      {CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, 32},
      {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, 65536},
      {CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 1 << 16},
      {CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, 6144},
      {CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, current->memory_clock_khz},
      {CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 1'980'000}};
  const auto found = values.find(attribute);
  *value = found == values.end() ? 0 : found->second;
  return note("cuDeviceGetAttribute");
}
CUresult device_memory(std::size_t* bytes, CUdevice) {
  *bytes = std::size_t{140} << 30;
  return note("cuDeviceTotalMem");
}
CUresult context_retain(CUcontext* context, CUdevice) {
  *context = some<CUcontext>();
  return note("cuDevicePrimaryCtxRetain");
}
CUresult context_release(CUdevice) { return note("cuDevicePrimaryCtxRelease"); }
CUresult context_set_current(CUcontext) { return note("cuCtxSetCurrent"); }
CUresult context_device(CUdevice* device) {
  *device = current->device;
  return current->device < 0 ? CUDA_ERROR_INVALID_CONTEXT : CUDA_SUCCESS;
}
CUresult get_limit(std::size_t* bytes, CUlimit) {
  *bytes = current->persisting_bytes;
  return note("cuCtxGetLimit");
}
CUresult set_limit(CUlimit, std::size_t bytes) {
  const CUresult result = note("cuCtxSetLimit");
  if (result == CUDA_SUCCESS) current->persisting_bytes = bytes;
  return result;
}
CUresult reset_persisting_l2() { return note("cuCtxResetPersistingL2Cache"); }
CUresult profiler_start() { return note("cuProfilerStart"); }
CUresult profiler_stop() { return note("cuProfilerStop"); }

// ---- streams and events

CUresult stream_create(CUstream* stream, unsigned) {
  *stream = some<CUstream>();
  return note("cuStreamCreate");
}
CUresult stream_destroy(CUstream) { return note("cuStreamDestroy"); }
CUresult stream_query(CUstream) {
  return current->hung ? CUDA_ERROR_NOT_READY : note("cuStreamQuery");
}
CUresult stream_synchronize(CUstream) {
  FATUNE_CHECK(!current->hung, "this would wait for ever");
  finish_pending();
  return note("cuStreamSynchronize");
}
CUresult stream_set_attribute(CUstream, CUstreamAttrID, const CUstreamAttrValue*) {
  return note("cuStreamSetAttribute");
}
CUresult event_create(CUevent* event, unsigned) {
  *event = reinterpret_cast<CUevent>(new FakeEvent);
  return note("cuEventCreate");
}
CUresult event_destroy(CUevent event) {
  delete reinterpret_cast<FakeEvent*>(event);
  return note("cuEventDestroy");
}
CUresult event_record(CUevent event, CUstream) {
  FakeEvent* recorded = reinterpret_cast<FakeEvent*>(event);
  recorded->done = false;
  return queue([recorded] {
    finish_pending();
    if (!current->hung) *recorded = {true, current->now_us};
  });
}
CUresult event_query(CUevent event) {
  if (current->broken != CUDA_SUCCESS) return current->broken;
  return reinterpret_cast<FakeEvent*>(event)->done ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}
CUresult event_elapsed(float* milliseconds, CUevent start, CUevent stop) {
  *milliseconds = static_cast<float>(
      (reinterpret_cast<FakeEvent*>(stop)->us - reinterpret_cast<FakeEvent*>(start)->us) * 1e-3);
  return note("cuEventElapsedTime");
}

// ---- memory

CUresult memory_info(std::size_t* free, std::size_t* total) {
  *free = *total = std::size_t{140} << 30;
  return note("cuMemGetInfo");
}
/// The size is stored in front of the memory.
CUresult memory_allocate(CUdeviceptr* address, std::size_t bytes) {
  const CUresult result = note("cuMemAlloc");
  if (result != CUDA_SUCCESS) return result;
  const std::size_t rounded = (bytes + 2 * kAlignment - 1) / kAlignment * kAlignment;
  auto* block = static_cast<std::byte*>(std::aligned_alloc(kAlignment, rounded));
  *reinterpret_cast<FakeMemory*>(block) = {bytes};
  *address = reinterpret_cast<CUdeviceptr>(block + kAlignment);
  return result;
}
CUresult memory_free(CUdeviceptr address) {
  auto* inside = static_cast<std::byte*>(host(address));
  if (current->freed) {
    const std::size_t bytes = reinterpret_cast<FakeMemory*>(inside - kAlignment)->bytes;
    current->freed->emplace_back(inside, inside + bytes);
  }
  std::free(inside - kAlignment);
  return note("cuMemFree");
}
CUresult allocate_async(CUdeviceptr* address, std::size_t bytes, CUstream) {
  *address = kAsyncAllocation;
  return note("cuMemAllocAsync", std::to_string(bytes));
}
CUresult free_async(CUdeviceptr address, CUstream) {
  return note("cuMemFreeAsync", address == kAsyncAllocation ? "" : "of something else");
}
CUresult host_allocate(void** data, std::size_t bytes, unsigned) {
  *data = std::malloc(bytes);
  return note("cuMemHostAlloc");
}
CUresult host_free(void* data) {
  std::free(data);
  return note("cuMemFreeHost");
}
CUresult copy(const char* symbol, void* to, const void* from, std::size_t bytes) {
  const CUresult result = note(symbol);
  if (result != CUDA_SUCCESS) return result;
  return queue_small([=] { std::memcpy(to, from, bytes); });
}
CUresult copy_to_device(CUdeviceptr to, const void* from, std::size_t bytes, CUstream) {
  return copy("cuMemcpyHtoDAsync", host(to), from, bytes);
}
CUresult copy_to_host(void* to, CUdeviceptr from, std::size_t bytes, CUstream) {
  return copy("cuMemcpyDtoHAsync", to, host(from), bytes);
}
CUresult copy_on_device(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream) {
  return copy("cuMemcpyDtoDAsync", host(to), host(from), bytes);
}
CUresult set_bytes(CUdeviceptr to, unsigned char value, std::size_t bytes, CUstream) {
  const CUresult result = note("cuMemsetD8Async");
  if (result != CUDA_SUCCESS) return result;
  return queue_small([=] { std::memset(host(to), value, bytes); });
}

// ---- machine code

CUresult module_load(CUmodule* loaded, const void*, unsigned, CUjit_option*, void**) {
  *loaded = some<CUmodule>();
  return note("cuModuleLoadDataEx");
}
CUresult module_unload(CUmodule) { return note("cuModuleUnload"); }
CUresult module_function(CUfunction* function, CUmodule, const char* name) {
  const auto found = current->entries.find(name);
  if (found == current->entries.end()) return CUDA_ERROR_NOT_FOUND;
  *function = reinterpret_cast<CUfunction>(&found->second);
  return note("cuModuleGetFunction", name);
}
CUresult module_global(CUdeviceptr* address, std::size_t* bytes, CUmodule, const char* name) {
  const auto found = current->constants.find(name);
  if (found == current->constants.end()) return CUDA_ERROR_NOT_FOUND;
  *address = reinterpret_cast<CUdeviceptr>(found->second.data());
  *bytes = found->second.size();
  return note("cuModuleGetGlobal", name);
}
CUresult function_attribute(int* value, CUfunction_attribute attribute, CUfunction) {
  *value = attribute == CU_FUNC_ATTRIBUTE_NUM_REGS                ? 64
           : attribute == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK ? 1024
                                                                  : 0;
  return note("cuFuncGetAttribute");
}
CUresult set_function_attribute(CUfunction, CUfunction_attribute attribute, int value) {
  const bool shared = attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
  const CUresult result = note("cuFuncSetAttribute");
  return shared && value > kMostSharedBytes ? CUDA_ERROR_INVALID_VALUE : result;
}
CUresult occupancy(int* blocks, CUfunction, int, std::size_t) {
  *blocks = 2;
  return note("cuOccupancyMaxActiveBlocksPerMultiprocessor");
}
CUresult library_load(CUlibrary* library, const void* code, CUjit_option*, void**, unsigned,
                      CUlibraryOption*, void**, unsigned) {
  *library = some<CUlibrary>();
  return note("cuLibraryLoadData", static_cast<const char*>(code));
}
CUresult library_unload(CUlibrary) { return note("cuLibraryUnload"); }
CUresult library_kernel(CUkernel* kernel, CUlibrary, const char* name) {
  *kernel = reinterpret_cast<CUkernel>(&current->entries.at(name));
  return note("cuLibraryGetKernel", name);
}
CUresult kernel_function(CUfunction*, CUkernel) { return note("cuKernelGetFunction"); }
CUresult kernel_parameter(CUkernel kernel, std::size_t index, std::size_t* offset,
                          std::size_t* bytes) {
  const std::vector<std::size_t>& all = reinterpret_cast<Entry*>(kernel)->argument_bytes;
  if (index >= all.size()) return CUDA_ERROR_INVALID_VALUE;
  *offset = index * sizeof(CUdeviceptr);
  *bytes = all[index];
  return CUDA_SUCCESS;
}
CUresult set_kernel_attribute(CUfunction_attribute attribute, int value, CUkernel kernel,
                              CUdevice device) {
  return note("cuKernelSetAttribute",
              fmt::format("{} {}={} on {}", reinterpret_cast<Entry*>(kernel)->name,
                          static_cast<int>(attribute), value, device));
}
CUresult encode_tensor_map(CUtensorMap* map, CUtensorMapDataType element, cuuint32_t rank,
                           void* address, const cuuint64_t* sizes, const cuuint64_t* strides,
                           const cuuint32_t* box, const cuuint32_t*, CUtensorMapInterleave,
                           CUtensorMapSwizzle swizzle, CUtensorMapL2promotion,
                           CUtensorMapFloatOOBfill) {
  const CUresult result = note("cuTensorMapEncodeTiled");
  if (result != CUDA_SUCCESS) return result;
  FATUNE_CHECK(rank == 4 && reinterpret_cast<std::uintptr_t>(map) % 64 == 0,
               "the driver demands the alignment");
  const auto place = reinterpret_cast<CUdeviceptr>(address);
  std::memcpy(map, &place, sizeof(place));
  const std::lock_guard guard(current->lock);
  current->encoded.push_back(
      {element, place, {sizes, sizes + 4}, {strides, strides + 3}, {box, box + 4}, swizzle});
  return result;
}

// ---- launches

/// A dependent launch of a kernel that does not wait runs before the end of its predecessor.
void run_kernel(const Entry& entry, bool dependent, const Work& work) {
  const bool early = dependent && !entry.waits;
  if (!early) finish_pending();
  if (current->hung) return;
  current->now_us += entry.us;
  if (entry.launches_dependents) {
    current->pending = work;
    return;
  }
  current->runs_dependent = dependent;
  work();
  finish_pending();
}

CUresult launch(const CUlaunchConfig* config, CUfunction function, void** arguments, void**) {
  const Entry& entry = *reinterpret_cast<Entry*>(function);
  FakeDriver::Launch seen{
      entry.name, *config, {config->attrs, config->attrs + config->numAttrs}, {}};
  for (std::size_t i = 0; i < entry.argument_bytes.size(); ++i) {
    std::memcpy(&seen.addresses.emplace_back(), arguments[i],
                std::min(sizeof(CUdeviceptr), entry.argument_bytes[i]));
  }
  const bool dependent = std::any_of(
      seen.attributes.begin(), seen.attributes.end(), [](const CUlaunchAttribute& attribute) {
        return attribute.id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
      });
  CUresult result = note("cuLaunchKernelEx", entry.name);
  if (result == CUDA_SUCCESS) result = entry.refusal;
  if (result != CUDA_SUCCESS) return result;
  {
    const std::lock_guard guard(current->lock);
    current->launches.push_back(std::move(seen));
    if (current->captured && dependent && !current->captured->work.empty())
      ++current->captured->programmatic;
  }
  return queue(
      [&entry, dependent, work = entry.bind(arguments)] { run_kernel(entry, dependent, work); });
}

CUresult capture_mode(CUstreamCaptureMode* mode) {
  static thread_local CUstreamCaptureMode now = CU_STREAM_CAPTURE_MODE_GLOBAL;
  std::swap(*mode, now);
  return note("cuThreadExchangeStreamCaptureMode", std::to_string(static_cast<int>(now)));
}
CUresult capture_begin(CUstream, CUstreamCaptureMode) {
  current->captured.emplace();
  return note("cuStreamBeginCapture");
}
CUresult capture_end(CUstream, CUgraph* graph) {
  *graph = reinterpret_cast<CUgraph>(new FakeGraph(std::move(*current->captured)));
  current->captured.reset();
  return note("cuStreamEndCapture");
}
CUresult graph_edges(CUgraph graph, CUgraphNode*, CUgraphNode*, CUgraphEdgeData* edges,
                     std::size_t* count) {
  const FakeGraph& fake = *reinterpret_cast<FakeGraph*>(graph);
  *count = fake.work.empty() ? 0 : fake.work.size() - 1;
  for (std::size_t i = 0; edges != nullptr && i < *count; ++i)
    edges[i].type = i < fake.programmatic ? CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC
                                          : CU_GRAPH_DEPENDENCY_TYPE_DEFAULT;
  return note("cuGraphGetEdges");
}
CUresult graph_destroy(CUgraph graph) {
  delete reinterpret_cast<FakeGraph*>(graph);
  return note("cuGraphDestroy");
}
CUresult graph_instantiate(CUgraphExec* exec, CUgraph graph, unsigned long long) {
  *exec = reinterpret_cast<CUgraphExec>(new FakeGraph(*reinterpret_cast<FakeGraph*>(graph)));
  return note("cuGraphInstantiateWithFlags");
}
CUresult graph_exec_destroy(CUgraphExec graph) {
  delete reinterpret_cast<FakeGraph*>(graph);
  return note("cuGraphExecDestroy");
}
CUresult graph_upload(CUgraphExec, CUstream) { return note("cuGraphUpload"); }
CUresult graph_launch(CUgraphExec graph, CUstream) {
  const CUresult result = note("cuGraphLaunch");
  if (result != CUDA_SUCCESS) return result;
  return queue([graph] {
    for (const Work& work : reinterpret_cast<FakeGraph*>(graph)->work) {
      if (!current->hung) work();
    }
  });
}

void* symbol(const char* name) {
  const auto& missing = current->missing;
  if (std::find(missing.begin(), missing.end(), name) != missing.end()) return nullptr;
#define FATUNE_FAKE(member, api, text, needed) \
  if (std::strcmp(name, text) == 0) {          \
    const decltype(&::api) typed = &member;    \
    return reinterpret_cast<void*>(typed);     \
  }
  FATUNE_DRIVER_FUNCTIONS(FATUNE_FAKE)
#undef FATUNE_FAKE
  return nullptr;
}

}  // namespace

FakeDriver::FakeDriver() {
  FATUNE_CHECK(current == nullptr, "one fake driver lives at a time");
  current = this;
}

FakeDriver::~FakeDriver() { current = nullptr; }

gpu::SymbolSource FakeDriver::symbols() { return symbol; }

std::size_t FakeDriver::count(const std::string& beginning) const {
  return static_cast<std::size_t>(
      std::count_if(calls.begin(), calls.end(),
                    [&](const std::string& call) { return call.starts_with(beginning); }));
}

}  // namespace fatune::test
