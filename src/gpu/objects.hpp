// objects.hpp - contexts, streams, events, modules, memory and graphs as owned values; launches.
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

/// The one RAII template: owns a CUDA object. Raw is comparable, and means "none" when it is
/// value-initialised.
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

/// Destroying after the driver shut down or the context broke is silent.
void destroy(PrimaryContext context) noexcept;
void destroy(CUstream stream) noexcept;
void destroy(CUevent event) noexcept;
void destroy(CUmodule module) noexcept;
void destroy(CUdeviceptr device_memory) noexcept;
void destroy(void* host_memory) noexcept;
void destroy(CUgraph graph) noexcept;
void destroy(CUgraphExec graph) noexcept;

using Context = Handle<PrimaryContext, destroy>;
/// Loads the driver, retains the device's primary context and makes it current in this thread. What
/// is made below belongs to the current context and must go before it.
Result<Context> make_context(int ordinal);

using Stream = Handle<CUstream, destroy>;
/// Independent of the default stream; every copy and launch here names its stream.
Result<Stream> make_stream(const Context& context);
/// Waits without limit; an error of an earlier launch comes out here.
Status synchronize(CUstream stream);

using Event = Handle<CUevent, destroy>;
Result<Event> make_event(const Context& context);  ///< with a time stamp
Status record(CUevent event, CUstream stream);
/// Polls, so that a hung kernel is noticed: false when the event was not reached within `limit`. An
/// error of the work before the event comes out here.
Result<bool> wait(CUevent event, std::chrono::microseconds limit);
/// Both events must be done. Resolution is about half a microsecond.
Result<Micros> elapsed(CUevent start, CUevent stop);

using Module = Handle<CUmodule, destroy>;
Result<Module> load_module(const Context& context, std::string_view cubin);
/// Valid as long as the module; a missing entry is an error that names it.
Result<CUfunction> find_function(const Module& module, const std::string& entry);

/// Device memory, aligned to 256 bytes at least. Zero bytes make an empty buffer with address 0.
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
/// Out of memory is an error that says how much was asked for and how much is free.
Result<Buffer> make_buffer(const Context& context, std::size_t bytes);

/// Page-locked host memory, for copies at full speed.
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

/// Both host copies wait until the stream has finished with everything up to and including them.
Status copy_to_device(CUdeviceptr to, std::span<const std::byte> from, CUstream stream);
Status copy_to_host(std::span<std::byte> to, CUdeviceptr from, CUstream stream);
/// Only queues the work.
Status fill_bytes(CUdeviceptr to, std::uint8_t value, std::size_t bytes, CUstream stream);

using Graph = Handle<CUgraph, destroy>;
using GraphExec = Handle<CUgraphExec, destroy>;
/// Records what `work` queues on the stream instead of running it. Neither waits nor host copies
/// are allowed in `work`.
Result<Graph> capture(CUstream stream, const std::function<Status()>& work);
struct GraphEdges {
  std::size_t all = 0;
  std::size_t programmatic = 0;  ///< those that let the kernel behind them begin early
};
/// As the driver has them; empty where it does not tell (before CUDA 12.3).
Result<std::optional<GraphEdges>> edges_of(const Graph& graph);
/// Makes the graph launchable and brings it to the device of the stream.
Result<GraphExec> instantiate(const Graph& graph, CUstream stream);
Status launch(const GraphExec& graph, CUstream stream);

// Persisting lines of the L2 cache survive a flush; timed launches must not have any.

/// What the current context may set aside for persisting lines; empty when device or driver has no
/// such limit. A limit of this process, not a setting of the GPU.
Result<std::optional<std::size_t>> persisting_limit();
/// Nothing may be set aside, and no window of addresses on the stream persists. Does nothing where
/// there is no such limit.
Status forbid_persisting_lines(CUstream stream);
/// Lines that are marked as persisting become ordinary ones.
Status reset_persisting_lines();

/// Sets cache aside and lets launches on the stream keep the window's lines, as a cheating host
/// would. For fixtures that the gates must catch.
Status keep_window(CUstream stream, CUdeviceptr address, std::size_t bytes);

/// Once per function before its first launch or occupancy query, see settings_of().
Status prepare(CUfunction function, const LaunchShape& shape);

/// `arguments` are pointers to the argument values, in the entry's order; copied before the return.
/// Queues only. Inside capture() the launch becomes a node of the graph.
Status launch(CUfunction function, const LaunchShape& shape, std::span<void*> arguments,
              CUstream stream);

/// Resident blocks per multiprocessor; 0 when none fits.
Result<int> blocks_per_sm(CUfunction function, const LaunchShape& shape);

struct FunctionFacts {
  int registers = 0;             ///< per thread
  std::int64_t local_bytes = 0;  ///< per thread: stack frame and spills
  std::int64_t static_shared_bytes = 0;
  int max_threads_block = 0;
};
Result<FunctionFacts> function_facts(CUfunction function);

/// On the heap, where it keeps the alignment that the driver asks for. The pointer is the launch
/// argument of a `const __grid_constant__ CUtensorMap`.
using TensorMap = std::unique_ptr<CUtensorMap>;
/// Facts that TMA cannot take, and a driver or device without it, are errors that say so.
Result<TensorMap> make_tensor_map(CUdeviceptr tensor, const TensorMapFacts& facts);

}  // namespace fatune::gpu
