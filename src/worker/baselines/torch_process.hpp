// torch_process.hpp: Sends orders about one problem to the Python helper.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "core/json.hpp"
#include "core/result.hpp"
#include "core/run_program.hpp"
#include "model/problem/tensor.hpp"
#include "worker/baselines/executable.hpp"
#include "worker/baselines/shared_tensors.hpp"
#include "worker/protocol/implementation.hpp"

namespace fatune {

struct TorchSetting {
  std::string python;  ///< absolute
  std::string device_uuid;
  Problem problem;
  std::int64_t l2_bytes = 0;
  std::optional<OperationPlan> custom{};  ///< the plan of a declared operation
};

/// How long an answer may take.
struct TorchPatience {
  std::chrono::milliseconds hello{45'000};  ///< importing PyTorch from a cold disk
  std::chrono::milliseconds order{30'000};
  std::chrono::milliseconds open{70'000};  ///< compiling its kernels
};

/// Runs src/worker/baselines/torch_helper/. The process starts when it is first needed. After it
/// died, open() starts it again, so that its death costs one contestant only. An answer that does
/// not parse or does not come in time ends it, too. Errors are of the kind "device", or
/// "environment" when something is not installed.
class TorchProcess {
 public:
  explicit TorchProcess(TorchPatience patience = {}) : patience_(patience) {}
  void set_patience(TorchPatience patience) { patience_ = patience; }

  /// Starts the helper without waiting for it (importing PyTorch is slow); the first call that
  /// needs it returns any error.
  void launch(const std::string& python, const std::string& device_uuid);
  /// Sends the orders of open() without waiting, for the helper's first problem only.
  void open_ahead(const std::string& backend, const TorchSetting& setting);
  /// Starts the helper; its version of PyTorch.
  Result<std::string> greet(const TorchSetting& setting);
  /// Returns the version of a package, after the greeting; empty if the package is not installed.
  std::string version_of(const PythonPackage& package) const;
  /// An error when an installed package cannot be imported, for example without one it needs.
  Status load(const PythonPackage& package, const TorchSetting& setting);
  /// Makes the helper hold this backend for this problem, which frees the problem before. An error
  /// when the backend cannot do the problem.
  Status open(const std::string& backend, const TorchSetting& setting);
  /// Returns the version and the backend that runs, for an open backend.
  std::string detail(const std::string& backend) const;

  /// Where inputs are put before run(), and where it leaves the outputs. Lives until the next
  /// problem.
  const SharedTensors& tensors() const { return tensors_; }
  /// Tells whether the inputs in the memory were copied from these addresses and are still valid.
  bool has_inputs_of(const TensorAddresses& source) const;
  /// Records that the inputs were copied; the helper fetches them with its next order.
  void inputs_are_of(const TensorAddresses& source);
  void forget_inputs() { source_.reset(); }

  /// The calls below need an open backend.
  Status run(const std::string& backend);
  /// Makes the backend's graph, unless it exists; returns the number of its launches.
  Result<std::int64_t> prepare(const std::string& backend);
  Result<TurnTimes> turn(const std::string& backend, int cold_launches);
  Result<std::optional<LayerTurn>> layer_turn(const std::string& backend);

 private:
  /// The helper's answer about an open backend.
  struct Opened {
    std::string ran, note;
    std::string library;  ///< "FlashInfer 0.7.2"; empty: PyTorch
    std::optional<std::int64_t> launches;
  };

  Json hello_order() const;
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
  /// Ends the process; `how` stands behind "the PyTorch helper".
  Error give_up(const std::string& how);

  TorchPatience patience_;
  LineProcess process_;
  std::deque<std::string> ahead_;     ///< sent orders whose answers are not read, oldest first
  bool greeted_ = false;              ///< the present process has answered the greeting
  std::optional<Error> unavailable_;  ///< error of the helper's first start
  std::string torch_, cudnn_;         ///< versions
  std::map<std::string, std::string> packages_;  ///< versions by implementation
  std::optional<Problem> problem_;
  std::optional<std::pair<Problem, Json>>
      next_;  ///< the problem that tensors_ are made for, and its order
  SharedTensors tensors_;
  std::optional<TensorAddresses> source_;  ///< of the inputs in tensors_
  bool inputs_are_new_ = true;             ///< the helper has not fetched them
  std::map<std::string, Opened> opened_;
};

}  // namespace fatune
