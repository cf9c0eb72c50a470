// objects.hpp - contexts, streams, events, modules, memory and graphs as owned values.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <cuda.h>

#include "core/result.hpp"
#include "core/units.hpp"

namespace fatune::gpu {

/// The one RAII template: owns a CUDA object. Traits has `using Raw` (comparable; a
/// value-initialised Raw means "none") and `static void destroy(Raw) noexcept`. Destroying after
/// the driver shut down or the context broke is silent.
template <typename Traits>
class Handle {
 public:
  using Raw = typename Traits::Raw;

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
    if (*this) Traits::destroy(raw_);
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
struct ContextTraits {
  using Raw = PrimaryContext;
  static void destroy(Raw raw) noexcept;
};
using Context = Handle<ContextTraits>;
/// Loads the driver, retains the device's primary context and makes it current in this thread. What
/// is made below belongs to the current context and must go before it.
Result<Context> make_context(int ordinal);

struct StreamTraits {
  using Raw = CUstream;
  static void destroy(Raw raw) noexcept;
};
using Stream = Handle<StreamTraits>;
/// Independent of the default stream; every copy and launch here names its stream.
Result<Stream> make_stream(const Context& context);
/// Waits without limit; an error of an earlier launch comes out here.
Status synchronize(CUstream stream);

struct EventTraits {
  using Raw = CUevent;
  static void destroy(Raw raw) noexcept;
};
using Event = Handle<EventTraits>;
Result<Event> make_event(const Context& context);  ///< with a time stamp
Status record(CUevent event, CUstream stream);
/// True once the work before the event is done; an error of that work comes out here.
Result<bool> is_done(CUevent event);
/// Polls, so that a hung kernel is noticed: false when the event was not reached within `limit`.
Result<bool> wait(CUevent event, std::chrono::microseconds limit);
/// Both events must be done. Resolution is about half a microsecond.
Result<Micros> elapsed(CUevent start, CUevent stop);

struct ModuleTraits {
  using Raw = CUmodule;
  static void destroy(Raw raw) noexcept;
};
using Module = Handle<ModuleTraits>;
Result<Module> load_module(const Context& context, std::string_view cubin);
/// Valid as long as the module; a missing entry is an error that names it.
Result<CUfunction> find_function(const Module& module, const std::string& entry);

struct DeviceMemoryTraits {
  using Raw = CUdeviceptr;
  static void destroy(Raw raw) noexcept;
};
struct HostMemoryTraits {
  using Raw = void*;
  static void destroy(Raw raw) noexcept;
};

/// Device memory, aligned to 256 bytes at least. Zero bytes make an empty buffer with address 0.
class Buffer {
 public:
  Buffer() = default;
  Buffer(CUdeviceptr address, std::size_t bytes) : memory_(address), bytes_(bytes) {}
  CUdeviceptr address() const { return memory_.raw(); }
  std::size_t bytes() const { return bytes_; }

 private:
  Handle<DeviceMemoryTraits> memory_;
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
  Handle<HostMemoryTraits> memory_;
  std::size_t bytes_ = 0;
};
Result<HostBuffer> make_host_buffer(const Context& context, std::size_t bytes);

/// Both host copies wait until the stream has finished with everything up to and including them.
Status copy_to_device(CUdeviceptr to, std::span<const std::byte> from, CUstream stream);
Status copy_to_host(std::span<std::byte> to, CUdeviceptr from, CUstream stream);
/// These three only queue the work.
Status copy_on_device(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream stream);
Status fill_bytes(CUdeviceptr to, std::uint8_t value, std::size_t bytes, CUstream stream);
/// `to` is a multiple of 4; `words` counts 32-bit words.
Status fill_words(CUdeviceptr to, std::uint32_t value, std::size_t words, CUstream stream);

struct MemoryInfo {
  Bytes free, total;
};
Result<MemoryInfo> memory_info(const Context& context);

struct GraphTraits {
  using Raw = CUgraph;
  static void destroy(Raw raw) noexcept;
};
struct GraphExecTraits {
  using Raw = CUgraphExec;
  static void destroy(Raw raw) noexcept;
};
using Graph = Handle<GraphTraits>;
using GraphExec = Handle<GraphExecTraits>;
/// Records what `work` queues on the stream instead of running it. Neither waits nor host copies
/// are allowed in `work`.
Result<Graph> capture(CUstream stream, const std::function<Status()>& work);
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

}  // namespace fatune::gpu
