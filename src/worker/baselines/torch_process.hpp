// torch_process.hpp - the Python helper's process: orders about one problem to answers.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/json.hpp"
#include "core/result.hpp"
#include "core/run_program.hpp"
#include "model/problem/problem.hpp"
#include "worker/baselines/executable.hpp"

namespace fatune {

/// Host memory for a problem's tensors that a child process can open, too: the buffers of q, k, v,
/// their factors and out one after the other in an anonymous file, as they lie on the device; gone
/// with the last that has it mapped.
class SharedTensors {
 public:
  static Result<SharedTensors> make(const Problem& problem);
  /// The buffer that begins with the tensor; empty if it begins with another.
  std::span<std::byte> operator[](std::string_view tensor) const;
  /// All but out that a buffer begins with.
  std::vector<std::string> inputs() const;
  /// {"path", "bytes", "places": {"q": 0, ...}}: where a child finds it, and the tensors in it. The
  /// path is good as long as this lives.
  Json place() const;

 private:
  struct Memory {
    int file = -1;
    std::byte* data = nullptr;
    std::size_t bytes = 0;
    ~Memory();
  };
  struct Part {
    std::size_t start = 0;
    std::size_t bytes = 0;  ///< of the buffer that begins here; 0: none does
  };
  std::unique_ptr<Memory> memory_;
  std::map<std::string, Part, std::less<>> parts_;
};

/// The helper's flushes, in multiples of the L2 cache, as the sampler's plan has it.
inline constexpr std::int64_t kTorchFlushFactor = 2;

/// A package beside PyTorch that the helper runs, too.
struct Neighbour {
  std::string_view impl, title, package;
  bool scales = false;  ///< other scales than 1/sqrt(head_dim) are passed on
  bool e4m3 = false;    ///< with a factor a key head
};
inline constexpr Neighbour kNeighbours[] = {
    {"flashinfer", "FlashInfer", "flashinfer-python"},
    {.impl = "fa3", .title = "FlashAttention-3", .package = "vllm", .scales = true, .e4m3 = true},
    {"fa4", "FlashAttention-4", "flash-attn-4"},
    {.impl = "sage", .title = "SageAttention", .package = "sageattention", .scales = true}};

struct TorchSetting {
  std::string python;  ///< absolute
  std::string device_uuid;
  Problem problem;
  std::int64_t flush_bytes = 0;
};

/// How long an answer may take.
struct TorchPatience {
  std::chrono::milliseconds hello{45'000};  ///< importing PyTorch from a cold disk
  std::chrono::milliseconds order{30'000};
};

/// Runs src/worker/baselines/torch_helper.py. Started when first needed; after it died every call
/// to open() starts it again, so that its death costs one contestant only. An answer that does not
/// parse, or none in time, ends it, too. Errors are of the kind "device", or "environment" when
/// something is not installed.
class TorchProcess {
 public:
  explicit TorchProcess(TorchPatience patience = {}) : patience_(patience) {}
  void set_patience(TorchPatience patience) { patience_ = patience; }

  /// Starts the helper without waiting for it (importing PyTorch is slow); the first call that
  /// needs it returns any error.
  void launch(const std::string& python, const std::string& device_uuid);
  /// Asks for what open() will, without waiting: the helper does it meanwhile. Of its first problem
  /// alone.
  void open_ahead(const std::string& backend, const TorchSetting& setting);
  /// Starts the helper; its version of PyTorch.
  Result<std::string> greet(const TorchSetting& setting);
  /// The version of a neighbour beside it, after the greeting; empty if it is not installed.
  std::string version_of(const Neighbour& neighbour) const;
  /// An error when the neighbour is installed and cannot be imported, as when a package of its own
  /// is missing.
  Status load(const Neighbour& neighbour, const TorchSetting& setting);
  /// Makes the helper hold this backend for this problem, which frees the problem before. Nothing
  /// to do when it does already. An error when the backend cannot do the problem.
  Status open(const std::string& backend, const TorchSetting& setting);
  /// Version and backend that runs, of one that is open.
  std::string detail(const std::string& backend) const;

  /// Where inputs are put before run(), and where it leaves the output. Lives until the next
  /// problem.
  const SharedTensors& tensors() const { return tensors_; }
  /// Whether the inputs in the memory were copied from these addresses, and not forgotten since.
  bool has_inputs_of(const TensorAddresses& source) const;
  /// They are now; the helper fetches them with its next order.
  void inputs_are_of(const TensorAddresses& source);
  void forget_inputs() { source_.reset(); }

  /// The five below want the backend open.
  Status run(const std::string& backend);
  /// Makes its graph, unless it has one; returns the launches in it.
  Result<std::int64_t> prepare(const std::string& backend);
  Result<TurnTimes> turn(const std::string& backend, int cold_launches);
  Result<std::optional<LayerTurn>> layer_turn(const std::string& backend);

 private:
  /// What the helper knows of an open backend.
  struct Opened {
    std::string ran, note;
    std::string library;  ///< "FlashInfer 0.7.2"; empty: PyTorch
    std::optional<std::int64_t> launches;
  };

  Status start(const TorchSetting& setting);
  Result<Json> answer(std::chrono::milliseconds patience);
  Status begin(const TorchSetting& setting);
  Result<Json> order_of(const TorchSetting& setting);
  void send_ahead(const Json& order);
  void pass_over_ahead();
  Result<Json> ask(const Json& order, std::chrono::milliseconds patience);
  Json about(const std::string& backend, const std::string& what) const;
  Result<Json> carry_out(const Json& order);
  void end();
  /// Ends it; `how` is put behind "the PyTorch helper".
  Error give_up(const std::string& how);

  TorchPatience patience_;
  LineProcess process_;
  std::deque<std::string> ahead_;     ///< sent orders that nobody has asked about, the oldest first
  bool greeted_ = false;              ///< the present process has answered the greeting
  std::optional<Error> unavailable_;  ///< what it said at its first start
  std::string torch_, cudnn_;         ///< versions
  std::map<std::string, std::string> neighbours_;  ///< versions by implementation
  std::optional<Problem> problem_;
  std::optional<std::pair<Problem, Json>>
      next_;  ///< the problem that tensors_ are made for, and its order
  SharedTensors tensors_;
  std::optional<TensorAddresses> source_;  ///< of the inputs in tensors_
  bool inputs_are_new_ = true;             ///< to the helper
  std::map<std::string, Opened> opened_;
};

}  // namespace fatune
