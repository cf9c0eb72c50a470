// objects.cpp - creation, use and destruction of the driver's objects.
#include "gpu/objects.hpp"

#include <algorithm>
#include <thread>

#include <fmt/format.h>

#include "core/log.hpp"
#include "core/text.hpp"
#include "gpu/driver.hpp"

namespace fatune::gpu {
namespace {

/// A failed destroy is only worth a word when it is neither the driver's end nor an earlier
/// failure.
void note(CUresult code, const char* what) noexcept {
  const bool expected = code == CUDA_SUCCESS || code == CUDA_ERROR_DEINITIALIZED ||
                        code == CUDA_ERROR_CONTEXT_IS_DESTROYED ||
                        code == CUDA_ERROR_INVALID_CONTEXT || is_sticky(code);
  if (!expected) log::debug(fmt::format("destroying {}: {}", what, describe(driver(), code)));
}

constexpr std::size_t kMostWindowBytes = 1 << 20;  // chosen: every device with persisting lines

/// Devices and drivers without persisting lines say so in one of these ways.
bool unsupported(CUresult code) {
  return code == CUDA_ERROR_NOT_SUPPORTED || code == CUDA_ERROR_UNSUPPORTED_LIMIT ||
         code == CUDA_ERROR_INVALID_VALUE;
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

}  // namespace

void ContextTraits::destroy(Raw raw) noexcept {
  note(driver().context_release(raw.device), "a context");
}
void StreamTraits::destroy(Raw raw) noexcept { note(driver().stream_destroy(raw), "a stream"); }
void EventTraits::destroy(Raw raw) noexcept { note(driver().event_destroy(raw), "an event"); }
void ModuleTraits::destroy(Raw raw) noexcept { note(driver().module_unload(raw), "a module"); }
void DeviceMemoryTraits::destroy(Raw raw) noexcept {
  note(driver().memory_free(raw), "device memory");
}
void HostMemoryTraits::destroy(Raw raw) noexcept { note(driver().host_free(raw), "host memory"); }
void GraphTraits::destroy(Raw raw) noexcept { note(driver().graph_destroy(raw), "a graph"); }
void GraphExecTraits::destroy(Raw raw) noexcept {
  note(driver().graph_exec_destroy(raw), "a launchable graph");
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

Result<bool> is_done(CUevent event) {
  const CUresult code = driver().event_query(event);
  if (code == CUDA_ERROR_NOT_READY) return false;
  FATUNE_TRY_STATUS(check(code, "the queued work failed"));
  return true;
}

Result<bool> wait(CUevent event, std::chrono::microseconds limit) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::microseconds kSpin{200};  // chosen: longer than most kernels take
  constexpr std::chrono::microseconds kNap{100};
  const auto start = Clock::now();
  while (true) {
    FATUNE_TRY(const bool done, is_done(event));
    if (done) return true;
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
  // An ELF image carries its own length; the driver takes no size.
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

Result<Buffer> make_buffer(const Context& context, std::size_t bytes) {
  if (bytes == 0) return Buffer();
  CUdeviceptr address = 0;
  const CUresult code = driver().memory_allocate(&address, bytes);
  if (code == CUDA_SUCCESS) return Buffer(address, bytes);
  std::string doing = "cannot allocate " + describe(Bytes(bytes)) + " of device memory";
  if (auto info = memory_info(context); info) {
    doing += " (" + describe(info->free) + " of " + describe(info->total) + " are free)";
  }
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

Status copy_to_host(std::span<std::byte> to, CUdeviceptr from, CUstream stream) {
  if (to.empty()) return {};
  FATUNE_TRY_STATUS(check(driver().copy_to_host(to.data(), from, to.size(), stream),
                          "cannot copy from the device"));
  return synchronize(stream);
}

Status copy_on_device(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
  if (bytes == 0) return {};
  return check(driver().copy_on_device(to, from, bytes, stream), "cannot copy on the device");
}

Status fill_bytes(CUdeviceptr to, std::uint8_t value, std::size_t bytes, CUstream stream) {
  if (bytes == 0) return {};
  return check(driver().set_bytes(to, value, bytes, stream), "cannot fill device memory");
}

Status fill_words(CUdeviceptr to, std::uint32_t value, std::size_t words, CUstream stream) {
  if (words == 0) return {};
  return check(driver().set_words(to, value, words, stream), "cannot fill device memory");
}

Result<MemoryInfo> memory_info(const Context&) {
  std::size_t free = 0;
  std::size_t total = 0;
  FATUNE_TRY_STATUS(
      check(driver().memory_info(&free, &total), "cannot ask for the free device memory"));
  return MemoryInfo{.free = Bytes(free), .total = Bytes(total)};
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
  const CUresult cleared = set_window(stream, 0, 0);
  if (unsupported(cleared)) return {};
  return check(cleared, "cannot clear the stream's window of persisting lines");
}

Status reset_persisting_lines() {
  const auto reset = driver().reset_persisting_l2;
  if (reset == nullptr) return {};
  const CUresult code = reset();
  if (unsupported(code)) return {};
  return check(code, "cannot reset the persisting lines of the L2 cache");
}

Status keep_window(CUstream stream, CUdeviceptr address, std::size_t bytes) {
  if (driver().set_limit == nullptr || driver().stream_set_attribute == nullptr)
    return environment_error("this driver knows no persisting lines of the L2 cache");
  FATUNE_TRY_STATUS(check(driver().set_limit(CU_LIMIT_PERSISTING_L2_CACHE_SIZE, kMostWindowBytes),
                          "cannot set aside room for persisting lines"));
  return check(set_window(stream, address, std::min(bytes, kMostWindowBytes)),
               "cannot keep a window of lines in the L2 cache");
}

}  // namespace fatune::gpu
