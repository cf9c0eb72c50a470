// torch_executable.cpp - a backend of the PyTorch helper as a contestant: memory there and back,
// and turns that the helper times.
#include <algorithm>
#include <iterator>
#include <memory>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "gpu/objects.hpp"
#include "worker/baselines/outside.hpp"
#include "worker/baselines/torch_process.hpp"

namespace fatune {
namespace {

/// Why the helper's functions cannot compute the problem; empty when they can.
std::string refusal(const std::string& backend, const Problem& problem) {
  const auto* const neighbour = std::ranges::find(kNeighbours, backend, &Neighbour::impl);
  const bool here = neighbour != std::end(kNeighbours);
  const bool takes = here && neighbour->e4m3 && problem.dtype == Dtype::kE4m3;
  if (size_of(problem.dtype) == 1 && !takes) {
    return here ? fmt::format("{} takes 8-bit floats with scales alone", neighbour->title)
                : "scaled_dot_product_attention of PyTorch takes no 8-bit floats";
  }
  if (here && problem.scale && !neighbour->scales)
    return fmt::format("of {}, only the scale 1/sqrt(head_dim) is known here", neighbour->title);
  if (problem.mask == Mask::kCausal && problem.seq_q > problem.seq_kv) {
    return fmt::format(
        "with more queries than keys the first rows see no key; {} them",
        here ? fmt::format("{} promises nothing for", neighbour->title) : "PyTorch gives NaN for");
  }
  return "";
}

TorchSetting torch_setting(const std::string& python, const OutsideSetting& setting) {
  return {python, setting.device_uuid, setting.problem, kTorchFlushFactor * setting.l2_bytes};
}

/// Copies between the worker's device memory and the memory shared with the helper.
class TorchExecutable : public Executable, public SelfTimed {
 public:
  TorchExecutable(TorchProcess& process, std::string backend, TorchSetting setting, CUstream stream)
      : process_(process),
        backend_(std::move(backend)),
        setting_(std::move(setting)),
        stream_(stream) {}

  Status ensure_open() { return process_.open(backend_, setting_); }

  Status bind(const TensorAddresses& tensors) override {
    bound_ = tensors;
    return {};
  }

  Status queue() override {
    FATUNE_TRY_STATUS(ensure_inputs());
    const std::span<std::byte> out = process_.tensors()["out"];
    // What lies between its rows comes back with them.
    if (setting_.problem.layouts.out.kind == LayoutKind::kStrides)
      FATUNE_TRY_STATUS(gpu::copy_to_host(out, bound_.at("out"), stream_));
    FATUNE_TRY_STATUS(process_.run(backend_));
    return gpu::copy_to_device(bound_.at("out"), out, stream_);
  }

  /// The graph is made here, so that the number of its launches is known before the first turn.
  Status settle(const TimeWork&) override { return prepare(); }

  bool may_vary() const override { return true; }
  SelfTimed* self_timed() override { return this; }
  std::string detail() const override { return process_.detail(backend_); }

  bool takes_turn(int, int) const override { return true; }
  std::int64_t hot_launches() const override { return launches_; }
  Result<TurnTimes> take_turn(int cold_launches) override {
    FATUNE_TRY_STATUS(prepare());
    return process_.turn(backend_, cold_launches);
  }
  Result<std::optional<LayerTurn>> take_layer_turn() override {
    FATUNE_TRY_STATUS(prepare());
    return process_.layer_turn(backend_);
  }

 private:
  Status prepare() {
    FATUNE_TRY_STATUS(ensure_inputs());
    FATUNE_TRY(launches_, process_.prepare(backend_));
    return {};
  }

  /// Other backends put inputs there, too.
  Status ensure_inputs() {
    FATUNE_TRY_STATUS(ensure_open());
    if (process_.has_inputs_of(bound_)) return {};
    process_.forget_inputs();
    const SharedTensors& memory = process_.tensors();
    for (const std::string& name : memory.inputs())
      FATUNE_TRY_STATUS(gpu::copy_to_host(memory[name], bound_.at(name), stream_));
    process_.inputs_are_of(bound_);
    return {};
  }

  TorchProcess& process_;
  std::string backend_;
  TorchSetting setting_;
  CUstream stream_;
  TensorAddresses bound_;
  std::int64_t launches_ = 1;
};

}  // namespace

void open_torch_ahead(TorchProcess& process, const std::string& backend, const std::string& python,
                      const OutsideSetting& setting) {
  if (refusal(backend, setting.problem).empty())
    process.open_ahead(backend, torch_setting(python, setting));
}

Result<std::unique_ptr<Executable>> open_torch(TorchProcess& process, const std::string& backend,
                                               const std::string& python,
                                               const OutsideSetting& setting) {
  if (const std::string reason = refusal(backend, setting.problem); !reason.empty())
    return usage_error(reason);
  // The same addresses may hold other numbers than for the executable before.
  process.forget_inputs();
  auto executable = std::make_unique<TorchExecutable>(
      process, backend, torch_setting(python, setting), setting.stream);
  FATUNE_TRY_STATUS(executable->ensure_open());
  return std::unique_ptr<Executable>(std::move(executable));
}

}  // namespace fatune
