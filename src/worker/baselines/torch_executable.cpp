// torch_executable.cpp: Makes a backend of the PyTorch helper a contestant that times itself.
#include <memory>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "gpu/objects.hpp"
#include "worker/baselines/outside.hpp"
#include "worker/baselines/torch_process.hpp"
#include "worker/protocol/implementation.hpp"

namespace fatune {
namespace {

/// Why the backend cannot compute attention; empty when it can. A user's function is asked.
std::string refusal(const std::string& backend, const Problem& what) {
  if (what.custom() != nullptr || backend.starts_with(kPythonPrefix)) return "";
  const Attention& problem = what.as_attention();
  const PythonPackage* const package = python_package(backend);
  const bool takes = package != nullptr && package->e4m3 && problem.dtype == Dtype::kE4m3;
  if (size_of(problem.dtype) == 1 && !takes) {
    return package != nullptr
               ? fmt::format("{} takes 8-bit floats with scales alone", package->title)
               : "scaled_dot_product_attention of PyTorch takes no 8-bit floats";
  }
  if (package != nullptr && problem.scale && !package->scales)
    return fmt::format("of {}, only the scale 1/sqrt(head_dim) is known here", package->title);
  if (package != nullptr && problem.value_dim && !package->value_dim)
    return fmt::format("of {}, only v of q's head dim is known here", package->title);
  if (problem.softcap && (package == nullptr || !package->softcap)) {
    return fmt::format("{} caps no scores",
                       package != nullptr ? package->title : "scaled_dot_product_attention");
  }
  const bool expressions = package != nullptr && package->expressions;
  if (!problem.score.empty() && !expressions) return "it changes scores by no expression";
  if (!problem.mask.rule.empty() && package != nullptr && !expressions)
    return fmt::format("{} takes no expression as mask", package->title);
  if (unseeing_rows(problem) > 0) {
    return fmt::format("the first rows see no key; {} them",
                       package != nullptr ? fmt::format("{} promises nothing for", package->title)
                                          : "PyTorch gives NaN for");
  }
  return "";
}

TorchSetting torch_setting(const std::string& python, const OutsideSetting& setting) {
  return {python, setting.device_uuid, setting.problem, setting.l2_bytes, setting.custom};
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
    const SharedTensors& memory = process_.tensors();
    for (const std::string& name : memory.outputs()) {
      // The copy back to the device includes the gaps between rows.
      if (memory.has_gaps(name))
        FATUNE_TRY_STATUS(gpu::copy_to_host(memory[name], bound_.at(name), stream_));
    }
    FATUNE_TRY_STATUS(process_.run(backend_));
    for (const std::string& name : memory.outputs())
      FATUNE_TRY_STATUS(gpu::copy_to_device(bound_.at(name), memory[name], stream_));
    return {};
  }

  /// Makes the graph, so that the number of its launches is known before the first turn.
  Status settle(const TimeWork&) override { return prepare(); }

  bool may_vary() const override { return true; }
  SelfTimed* self_timed() override { return this; }
  std::string detail() const override { return process_.detail(backend_); }

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

  /// Uploads again if another backend has put its inputs there.
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
  // These addresses may hold other numbers than for the executable before.
  process.forget_inputs();
  auto executable = std::make_unique<TorchExecutable>(
      process, backend, torch_setting(python, setting), setting.stream);
  FATUNE_TRY_STATUS(executable->ensure_open());
  return std::unique_ptr<Executable>(std::move(executable));
}

}  // namespace fatune
