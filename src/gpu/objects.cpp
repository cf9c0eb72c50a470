// objects.cpp: Implements CUDA objects, and checks launches and tensor maps before the driver does.
#include "gpu/objects.hpp"

#include <algorithm>
#include <limits>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "core/log.hpp"
#include "core/text.hpp"
#include "gpu/driver.hpp"

namespace fatune::gpu {
namespace {

/// Logs a failed destroy, unless the driver ended or an earlier failure caused it.
void note(CUresult code, const char* what) noexcept {
  const bool expected = code == CUDA_SUCCESS || code == CUDA_ERROR_DEINITIALIZED ||
                        code == CUDA_ERROR_CONTEXT_IS_DESTROYED ||
                        code == CUDA_ERROR_INVALID_CONTEXT || is_sticky(code);
  if (!expected) log::debug(fmt::format("destroying {}: {}", what, describe(driver(), code)));
}

// Chosen: fits every device with persisting lines.
constexpr std::size_t kMostWindowBytes = 1 << 20;

/// True for the errors of devices and drivers without persisting lines.
bool unsupported(CUresult code) {
  return code == CUDA_ERROR_NOT_SUPPORTED || code == CUDA_ERROR_UNSUPPORTED_LIMIT ||
         code == CUDA_ERROR_INVALID_VALUE;
}

Status check_if_supported(CUresult code, std::string_view doing) {
  return unsupported(code) ? Status() : check(code, doing);
}

CUresult set_window(CUstream stream, CUdeviceptr address, std::size_t bytes) {
  CUstreamAttrValue value{};
  value.accessPolicyWindow.base_ptr = reinterpret_cast<void*>(address);
  value.accessPolicyWindow.num_bytes = bytes;
  value.accessPolicyWindow.hitRatio = bytes == 0 ? 0.0f : 1.0f;
  value.accessPolicyWindow.hitProp =
      bytes == 0 ? CU_ACCESS_PROPERTY_NORMAL : CU_ACCESS_PROPERTY_PERSISTING;
  value.accessPolicyWindow.missProp = CU_ACCESS_PROPERTY_NORMAL;
  return driver().stream_set_attribute(stream, CU_STREAM_ATTRIBUTE_ACCESS_POLICY_WINDOW, &value);
}

std::string text(const Extent& extent) {
  return fmt::format("{},{},{}", extent[0], extent[1], extent[2]);
}

/// Rejects sizes that would wrap in the driver's 32-bit fields.
Status check_range(const LaunchShape& shape) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  for (const auto& [what, extent] : {std::pair("grid", shape.grid), std::pair("block", shape.block),
                                     std::pair("cluster", shape.cluster)}) {
    if (std::ranges::all_of(extent, [](std::int64_t n) { return n >= 1 && n <= kMost; })) continue;
    return device_error(fmt::format("cannot launch: {} {} is out of range", what, text(extent)));
  }
  if (shape.shared_bytes >= 0 && shape.shared_bytes <= kMost) return {};
  return device_error(
      fmt::format("cannot launch: {} bytes of shared memory are out of range", shape.shared_bytes));
}

Result<int> function_attribute(CUfunction function, CUfunction_attribute attribute) {
  int value = 0;
  FATUNE_TRY_STATUS(check(driver().function_attribute(&value, attribute, function),
                          "cannot ask the function for its attributes"));
  return value;
}

/// Checks the rules of cuTensorMapEncodeTiled that a manifest can break, because the driver only
/// reports "invalid value".
Status check_map(const TensorMapFacts& facts) {
  const auto broken = [](const std::string& why) {
    return device_error("cannot make a tensor map: " + why);
  };
  const std::int64_t element_bytes = facts.element == MapElement::kByte ? 1 : 2;
  const int swizzle = facts.swizzle_bytes;
  if (swizzle != 0 && swizzle != 32 && swizzle != 64 && swizzle != 128)
    return broken(fmt::format("swizzle {} is not 0, 32, 64 or 128", swizzle));
  for (std::size_t i = 0; i < 4; ++i) {
    if (facts.sizes[i] < 1 || facts.sizes[i] > (std::int64_t{1} << 32))
      return broken(fmt::format("size {} is not within 1 and 2^32", facts.sizes[i]));
    if (facts.box[i] < 1 || facts.box[i] > 256)
      return broken(fmt::format("box edge {} is not within 1 and 256", facts.box[i]));
  }
  const std::int64_t row = facts.sizes[0] * element_bytes;
  if (row % 16 != 0) return broken(fmt::format("rows of {} bytes are no multiple of 16", row));
  const std::int64_t inner = facts.box[0] * element_bytes;
  if (inner % 16 != 0)
    return broken(fmt::format("box rows of {} bytes are no multiple of 16", inner));
  if (swizzle == 0 || inner <= swizzle) return {};
  return broken(
      fmt::format("box rows of {} bytes are wider than the swizzle of {}", inner, swizzle));
}

}  // namespace

void destroy(PrimaryContext context) noexcept {
  note(driver().context_release(context.device), "a context");
}
void destroy(CUstream stream) noexcept { note(driver().stream_destroy(stream), "a stream"); }
void destroy(CUevent event) noexcept { note(driver().event_destroy(event), "an event"); }
void destroy(CUmodule module) noexcept { note(driver().module_unload(module), "a module"); }
void destroy(CUdeviceptr memory) noexcept { note(driver().memory_free(memory), "device memory"); }
void destroy(void* memory) noexcept { note(driver().host_free(memory), "host memory"); }
void destroy(CUgraph graph) noexcept { note(driver().graph_destroy(graph), "a graph"); }
void destroy(CUgraphExec graph) noexcept {
  note(driver().graph_exec_destroy(graph), "a launchable graph");
}

Result<Context> make_context(int ordinal) {
  FATUNE_TRY_STATUS(load_driver());
  PrimaryContext raw;
  const std::string device = fmt::format("device {}", ordinal);
  FATUNE_TRY_STATUS(check(driver().device(&raw.device, ordinal), "cannot find " + device));
  FATUNE_TRY_STATUS(check(driver().context_retain(&raw.context, raw.device),
                          "cannot make a context on " + device));
  Context context(raw);
  FATUNE_TRY_STATUS(
      check(driver().context_set_current(raw.context), "cannot use the context of " + device));
  return context;
}

Result<Stream> make_stream(const Context&) {
  CUstream raw = nullptr;
  FATUNE_TRY_STATUS(
      check(driver().stream_create(&raw, CU_STREAM_NON_BLOCKING), "cannot make a stream"));
  return Stream(raw);
}

Status synchronize(CUstream stream) {
  return check(driver().stream_synchronize(stream), "cannot finish the queued work");
}

Result<Event> make_event(const Context&) {
  CUevent raw = nullptr;
  FATUNE_TRY_STATUS(check(driver().event_create(&raw, CU_EVENT_DEFAULT), "cannot make an event"));
  return Event(raw);
}

Status record(CUevent event, CUstream stream) {
  return check(driver().event_record(event, stream), "cannot record an event");
}

Result<bool> wait(CUevent event, std::chrono::microseconds limit) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::microseconds kSpin{200};  // chosen: longer than most kernels
  constexpr std::chrono::microseconds kNap{100};
  const auto start = Clock::now();
  while (true) {
    const CUresult code = driver().event_query(event);
    if (code == CUDA_SUCCESS) return true;
    if (code != CUDA_ERROR_NOT_READY) return call_error(code, "the queued work failed");
    const auto waited = Clock::now() - start;
    if (waited >= limit) return false;
    if (waited >= kSpin) std::this_thread::sleep_for(kNap);
  }
}

Result<Micros> elapsed(CUevent start, CUevent stop) {
  float milliseconds = 0;
  FATUNE_TRY_STATUS(check(driver().event_elapsed(&milliseconds, start, stop),
                          "cannot read the time between two events"));
  return Micros(1000.0 * static_cast<double>(milliseconds));
}

Result<Module> load_module(const Context&, std::string_view cubin) {
  // The driver takes no size, because an ELF image has its own length.
  if (!cubin.starts_with("\x7f"
                         "ELF"))
    return device_error("cannot load the cubin: no ELF image");
  CUmodule raw = nullptr;
  FATUNE_TRY_STATUS(check(driver().module_load(&raw, cubin.data(), 0, nullptr, nullptr),
                          "cannot load the cubin"));
  return Module(raw);
}

Result<CUfunction> find_function(const Module& module, const std::string& entry) {
  CUfunction function = nullptr;
  FATUNE_TRY_STATUS(check(driver().module_function(&function, module.raw(), entry.c_str()),
                          "cannot find the entry '" + entry + "' in the cubin"));
  return function;
}

Result<ModuleConstant> find_constant(const Module& module, const std::string& symbol) {
  ModuleConstant constant;
  FATUNE_TRY_STATUS(check(
      driver().module_global(&constant.address, &constant.bytes, module.raw(), symbol.c_str()),
      "cannot find the __constant__ '" + symbol + "' in the cubin"));
  return constant;
}

Result<Buffer> make_buffer(const Context&, std::size_t bytes) {
  if (bytes == 0) return Buffer();
  CUdeviceptr address = 0;
  const CUresult code = driver().memory_allocate(&address, bytes);
  if (code == CUDA_SUCCESS) return Buffer(address, bytes);
  std::string doing = fmt::format("cannot allocate {} of device memory", describe(Bytes(bytes)));
  std::size_t free = 0, total = 0;
  if (driver().memory_info(&free, &total) == CUDA_SUCCESS)
    doing += fmt::format(" ({} of {} are free)", describe(Bytes(free)), describe(Bytes(total)));
  return call_error(code, doing);
}

Result<HostBuffer> make_host_buffer(const Context&, std::size_t bytes) {
  if (bytes == 0) return HostBuffer();
  void* data = nullptr;
  FATUNE_TRY_STATUS(
      check(driver().host_allocate(&data, bytes, 0),
            "cannot allocate " + describe(Bytes(bytes)) + " of page-locked host memory"));
  return HostBuffer(data, bytes);
}

Status copy_to_device(CUdeviceptr to, std::span<const std::byte> from, CUstream stream) {
  if (from.empty()) return {};
  FATUNE_TRY_STATUS(check(driver().copy_to_device(to, from.data(), from.size(), stream),
                          "cannot copy to the device"));
  return synchronize(stream);
}

Status copy_on_device(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
  return check(driver().copy_on_device(to, from, bytes, stream), "cannot copy on the device");
}

Status copy_to_host(std::span<std::byte> to, CUdeviceptr from, CUstream stream) {
  if (to.empty()) return {};
  FATUNE_TRY_STATUS(check(driver().copy_to_host(to.data(), from, to.size(), stream),
                          "cannot copy from the device"));
  return synchronize(stream);
}

Status fill_bytes(CUdeviceptr to, std::uint8_t value, std::size_t bytes, CUstream stream) {
  if (bytes == 0) return {};
  return check(driver().set_bytes(to, value, bytes, stream), "cannot fill device memory");
}

Result<Graph> capture(CUstream stream, const std::function<Status()>& work) {
  FATUNE_TRY_STATUS(check(driver().capture_begin(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
                          "cannot begin to capture a graph"));
  Status queued = work();
  CUgraph raw = nullptr;
  const CUresult code = driver().capture_end(stream, &raw);
  Graph graph(raw);
  if (!queued) return std::move(queued).error();
  FATUNE_TRY_STATUS(check(code, "cannot capture a graph"));
  return graph;
}

Result<std::optional<GraphEdges>> edges_of(const Graph& graph) {
  using Edges = std::optional<GraphEdges>;
  const auto ask = driver().graph_edges;
  if (ask == nullptr) return Edges();
  constexpr const char* kDoing = "cannot read the edges of a graph";
  std::size_t count = 0;
  FATUNE_TRY_STATUS(check(ask(graph.raw(), nullptr, nullptr, nullptr, &count), kDoing));
  std::vector<CUgraphNode> from(count), to(count);
  std::vector<CUgraphEdgeData> edges(count);
  if (count > 0)
    FATUNE_TRY_STATUS(
        check(ask(graph.raw(), from.data(), to.data(), edges.data(), &count), kDoing));
  const auto programmatic = std::ranges::count_if(edges, [](const CUgraphEdgeData& edge) {
    return edge.type == CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC;
  });
  return Edges({count, static_cast<std::size_t>(programmatic)});
}

Result<GraphExec> instantiate(const Graph& graph, CUstream stream) {
  CUgraphExec raw = nullptr;
  FATUNE_TRY_STATUS(
      check(driver().graph_instantiate(&raw, graph.raw(), 0), "cannot make the graph launchable"));
  GraphExec exec(raw);
  FATUNE_TRY_STATUS(
      check(driver().graph_upload(raw, stream), "cannot bring the graph to the device"));
  return exec;
}

Status launch(const GraphExec& graph, CUstream stream) {
  return check(driver().graph_launch(graph.raw(), stream), "cannot launch the graph");
}

Result<std::optional<std::size_t>> persisting_limit() {
  using Limit = std::optional<std::size_t>;
  if (driver().get_limit == nullptr) return Limit();
  std::size_t bytes = 0;
  const CUresult code = driver().get_limit(&bytes, CU_LIMIT_PERSISTING_L2_CACHE_SIZE);
  if (unsupported(code)) return Limit();
  FATUNE_TRY_STATUS(check(code, "cannot ask for the limit of persisting lines"));
  return Limit(bytes);
}

Status forbid_persisting_lines(CUstream stream) {
  FATUNE_TRY(const auto limit, persisting_limit());
  if (!limit || driver().set_limit == nullptr) return {};
  const CUresult code = driver().set_limit(CU_LIMIT_PERSISTING_L2_CACHE_SIZE, 0);
  if (unsupported(code)) return {};
  FATUNE_TRY_STATUS(check(code, "cannot forbid persisting lines of the L2 cache"));
  if (driver().stream_set_attribute == nullptr) return {};
  return check_if_supported(set_window(stream, 0, 0),
                            "cannot clear the stream's window of persisting lines");
}

Status reset_persisting_lines() {
  const auto reset = driver().reset_persisting_l2;
  if (reset == nullptr) return {};
  return check_if_supported(reset(), "cannot reset the persisting lines of the L2 cache");
}

Status keep_window(CUstream stream, CUdeviceptr address, std::size_t bytes) {
  if (driver().set_limit == nullptr || driver().stream_set_attribute == nullptr)
    return environment_error("this driver knows no persisting lines of the L2 cache");
  FATUNE_TRY_STATUS(check(driver().set_limit(CU_LIMIT_PERSISTING_L2_CACHE_SIZE, kMostWindowBytes),
                          "cannot set aside room for persisting lines"));
  return check(set_window(stream, address, std::min(bytes, kMostWindowBytes)),
               "cannot keep a window of lines in the L2 cache");
}

Status prepare(CUfunction function, const LaunchShape& shape) {
  FATUNE_TRY_STATUS(check_range(shape));
  for (const FunctionSetting& setting : settings_of(shape)) {
    FATUNE_TRY_STATUS(
        check(driver().set_function_attribute(function, setting.attribute, setting.value),
              "cannot allow " + setting.what));
  }
  return {};
}

Status launch(CUfunction function, const LaunchShape& shape, std::span<void*> arguments,
              CUstream stream) {
  FATUNE_TRY_STATUS(check_range(shape));
  const LaunchConfig made(shape);
  const CUlaunchConfig config = made.on(stream);
  const CUresult code = driver().launch(&config, function, arguments.data(), nullptr);
  if (code == CUDA_SUCCESS) return {};
  return call_error(
      code,
      fmt::format("cannot launch grid {}, block {}, cluster {}, {} bytes of shared memory",
                  text(shape.grid), text(shape.block), text(shape.cluster), shape.shared_bytes));
}

Result<int> blocks_per_sm(CUfunction function, const LaunchShape& shape) {
  FATUNE_TRY_STATUS(check_range(shape));
  int count = 0;
  const std::int64_t threads = product(shape.block);
  FATUNE_TRY_STATUS(check(driver().occupancy(&count, function, static_cast<int>(threads),
                                             static_cast<std::size_t>(shape.shared_bytes)),
                          "cannot ask for the occupancy"));
  return count;
}

Result<FunctionFacts> function_facts(CUfunction function) {
  FunctionFacts facts;
  FATUNE_TRY(facts.registers, function_attribute(function, CU_FUNC_ATTRIBUTE_NUM_REGS));
  FATUNE_TRY(facts.local_bytes, function_attribute(function, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES));
  FATUNE_TRY(facts.static_shared_bytes,
             function_attribute(function, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES));
  FATUNE_TRY(facts.max_threads_block,
             function_attribute(function, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK));
  return facts;
}

Result<TensorMap> make_tensor_map(CUdeviceptr tensor, const TensorMapFacts& facts) {
  FATUNE_TRY_STATUS(check_map(facts));
  FATUNE_TRY_STATUS(load_driver());
  if (driver().encode_tensor_map == nullptr) {
    return environment_error(
        "the NVIDIA driver is too old for tensor maps: it lacks cuTensorMapEncodeTiled, which came "
        "with CUDA 12.0 (525)");
  }
  auto map = std::make_unique<CUtensorMap>();
  FATUNE_TRY_STATUS(
      check(encode_tensor_map(driver(), facts, tensor, map.get()), "cannot make a tensor map"));
  return map;
}

}  // namespace fatune::gpu
