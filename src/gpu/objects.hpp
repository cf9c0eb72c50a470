// objects.hpp: Declares owned CUDA contexts, streams, events, modules, memory, graphs and launches.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "core/result.hpp"
#include "core/units.hpp"
#include "gpu/driver/launch_config.hpp"

namespace fatune::gpu {

/// Owns a CUDA object; the only RAII template. A value-initialised Raw means no object.
template <typename Raw, void (*destroy)(Raw) noexcept>
class Handle {
 public:
  Handle() = default;
  explicit Handle(Raw raw) noexcept : raw_(raw) {}
  Handle(Handle&& other) noexcept : raw_(std::exchange(other.raw_, Raw{})) {}
  Handle& operator=(Handle&& other) noexcept {
    if (this != &other) {
      reset();
      raw_ = std::exchange(other.raw_, Raw{});
    }
    return *this;
  }
  ~Handle() { reset(); }

  Raw raw() const noexcept { return raw_; }
  explicit operator bool() const noexcept { return !(raw_ == Raw{}); }
  void reset() noexcept {
    if (*this) destroy(raw_);
    raw_ = Raw{};
  }

 private:
  Raw raw_{};
};

/// The primary context of a device.
struct PrimaryContext {
  CUcontext context = nullptr;
  CUdevice device = 0;
  friend bool operator==(const PrimaryContext&, const PrimaryContext&) = default;
};

/// Logs nothing after the driver shut down or the context broke.
void destroy(PrimaryContext context) noexcept;
void destroy(CUstream stream) noexcept;
void destroy(CUevent event) noexcept;
void destroy(CUmodule module) noexcept;
void destroy(CUdeviceptr device_memory) noexcept;
void destroy(void* host_memory) noexcept;
void destroy(CUgraph graph) noexcept;
void destroy(CUgraphExec graph) noexcept;

using Context = Handle<PrimaryContext, destroy>;
/// Loads the driver, retains the device's primary context and makes it current in this thread.
/// Objects below belong to the current context and must be destroyed before it.
Result<Context> make_context(int ordinal);

using Stream = Handle<CUstream, destroy>;
/// Makes a non-blocking stream; every copy and launch here names its stream.
Result<Stream> make_stream(const Context& context);
/// Waits without limit; returns errors of earlier launches.
Status synchronize(CUstream stream);

using Event = Handle<CUevent, destroy>;
Result<Event> make_event(const Context& context);  ///< with timing
Status record(CUevent event, CUstream stream);
/// Polls the event, so that a hung kernel is detected. False if it was not reached within `limit`.
/// Returns errors of the work before the event.
Result<bool> wait(CUevent event, std::chrono::microseconds limit);
/// Returns the time between two completed events; the resolution is about 0.5 us.
Result<Micros> elapsed(CUevent start, CUevent stop);

using Module = Handle<CUmodule, destroy>;
Result<Module> load_module(const Context& context, std::string_view cubin);
/// The function is valid as long as the module; a missing entry is an error that names it.
Result<CUfunction> find_function(const Module& module, const std::string& entry);

/// A __constant__ variable of a module.
struct ModuleConstant {
  CUdeviceptr address = 0;
  std::size_t bytes = 0;
};
/// Returns a variable of the module; a missing one is an error that names it.
Result<ModuleConstant> find_constant(const Module& module, const std::string& symbol);

/// Device memory, aligned to at least 256 bytes. An empty buffer has address 0.
class Buffer {
 public:
  Buffer() = default;
  Buffer(CUdeviceptr address, std::size_t bytes) : memory_(address), bytes_(bytes) {}
  CUdeviceptr address() const { return memory_.raw(); }
  std::size_t bytes() const { return bytes_; }

 private:
  Handle<CUdeviceptr, destroy> memory_;
  std::size_t bytes_ = 0;
};
/// An out-of-memory error names the requested and the free bytes.
Result<Buffer> make_buffer(const Context& context, std::size_t bytes);

/// Page-locked host memory for full-speed copies.
class HostBuffer {
 public:
  HostBuffer() = default;
  HostBuffer(void* data, std::size_t bytes) : memory_(data), bytes_(bytes) {}
  std::byte* data() const { return static_cast<std::byte*>(memory_.raw()); }
  std::size_t bytes() const { return bytes_; }

 private:
  Handle<void*, destroy> memory_;
  std::size_t bytes_ = 0;
};
Result<HostBuffer> make_host_buffer(const Context& context, std::size_t bytes);

/// Both host copies wait until the stream has completed them and all earlier work.
Status copy_to_device(CUdeviceptr to, std::span<const std::byte> from, CUstream stream);
Status copy_to_host(std::span<std::byte> to, CUdeviceptr from, CUstream stream);
/// Queues the copy and returns.
Status copy_on_device(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream stream);
/// Queues the fill and returns.
Status fill_bytes(CUdeviceptr to, std::uint8_t value, std::size_t bytes, CUstream stream);

using Graph = Handle<CUgraph, destroy>;
using GraphExec = Handle<CUgraphExec, destroy>;
/// Captures the work that `work` queues on the stream. `work` must not wait or copy to or from the
/// host.
Result<Graph> capture(CUstream stream, const std::function<Status()>& work);
struct GraphEdges {
  std::size_t all = 0;
  std::size_t programmatic = 0;  ///< edges of programmatic dependent launches
};
/// Returns the numbers of edges; empty if the driver does not report them (before CUDA 12.3).
Result<std::optional<GraphEdges>> edges_of(const Graph& graph);
/// Makes the graph launchable and uploads it to the stream's device.
Result<GraphExec> instantiate(const Graph& graph, CUstream stream);
Status launch(const GraphExec& graph, CUstream stream);

// Persisting L2 lines survive a flush, so timed launches must not have any.

/// Returns the bytes that the context may set aside for persisting lines; empty without support.
/// The limit belongs to this process and is no setting of the GPU.
Result<std::optional<std::size_t>> persisting_limit();
/// Sets the limit to zero and removes the stream's access window; no effect without support.
Status forbid_persisting_lines(CUstream stream);
/// Turns persisting lines into ordinary ones.
Status reset_persisting_lines();

/// Makes launches on the stream keep the window's lines in L2. Only for fixtures that imitate a
/// cheating host.
Status keep_window(CUstream stream, CUdeviceptr address, std::size_t bytes);

/// Applies settings_of(); call once per function before its first launch or occupancy query.
Status prepare(CUfunction function, const LaunchShape& shape);

/// Queues a launch. `arguments` point to the argument values in the entry's order, which are copied
/// before the return. Inside capture() the launch becomes a graph node.
Status launch(CUfunction function, const LaunchShape& shape, std::span<void*> arguments,
              CUstream stream);

/// Returns the resident blocks per multiprocessor; 0 if none fits.
Result<int> blocks_per_sm(CUfunction function, const LaunchShape& shape);

struct FunctionFacts {
  int registers = 0;             ///< per thread
  std::int64_t local_bytes = 0;  ///< per thread: stack frame and spills
  std::int64_t static_shared_bytes = 0;
  int max_threads_block = 0;
};
Result<FunctionFacts> function_facts(CUfunction function);

/// A tensor map on the heap, which keeps the driver's alignment. The pointer is the launch argument
/// of a `const __grid_constant__ CUtensorMap`.
using TensorMap = std::unique_ptr<CUtensorMap>;
/// Facts outside TMA's limits, and a driver or device without TMA, are errors with the reason.
Result<TensorMap> make_tensor_map(CUdeviceptr tensor, const TensorMapFacts& facts);

}  // namespace fatune::gpu
