// own_reference.cpp - runs reference and twin over memory of their own, and derives the limits.
#include "worker/device/own_reference.hpp"

#include <cstring>
#include <utility>

#include "worker/device/erased.hpp"
#include "worker/device/loaded_program.hpp"

namespace fatune {
namespace {

/// What a program wrote of each output.
struct Results {
  std::vector<std::vector<std::byte>> outputs;
  Micros time{0};
};

class Runner {
 public:
  Runner(DeviceSession& session, const BeginOrder& order,
         const std::map<std::string, CUdeviceptr>& inputs)
      : session_(session), order_(order), addresses_{.own = inputs} {}

  /// `singles`: the program writes fp32, whatever an output's type is.
  Result<Results> run(const Program& program, bool singles) {
    const CUstream stream = session_.stream.raw();
    FATUNE_TRY(LoadedProgram loaded,
               LoadedProgram::load(session_.context, stream, program, order_.problem));
    Results results;
    std::vector<Erased> memory;
    for (const TensorPlan& tensor : order_.own->outputs()) {
      const std::size_t width = singles ? sizeof(float) : tensor.width();
      const std::size_t bytes = static_cast<std::size_t>(tensor.elements()) * width;
      FATUNE_TRY(gpu::Buffer buffer, poisoned_buffer(session_.context, bytes, stream));
      addresses_.own[tensor.name] = buffer.address();
      memory.emplace_back(std::move(buffer), stream);
      results.outputs.emplace_back(bytes);
    }
    FATUNE_TRY_STATUS(loaded.bind(addresses_));
    session_.sampler->set_limit(std::chrono::minutes(2));
    FATUNE_TRY(const MaybeTime time, session_.sampler->time_once([&] { return loaded.queue(); }));
    if (!time) return device_error("the reference kernel did not finish within two minutes");
    results.time = *time;
    // Clear the scratch, so that candidates cannot read the reference's intermediates.
    FATUNE_TRY_STATUS(fill_insides(loaded.scratch(), kNanByte, stream));
    for (std::size_t i = 0; i < memory.size(); ++i)
      FATUNE_TRY_STATUS(gpu::copy_to_host(results.outputs[i], (*memory[i]).address(), stream));
    return results;
  }

 private:
  DeviceSession& session_;
  const BeginOrder& order_;
  TensorAddresses addresses_;
};

std::vector<float> floats_of(const std::vector<std::byte>& bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

Status limit_by_twin(const std::vector<std::vector<std::byte>>& twin, Dtype io,
                     std::vector<TensorReference>& outputs) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const TensorErrors errors = compare_tensor(outputs[i], twin[i]);
    outputs[i].limits = tensor_limits(outputs[i], errors, io);
    const Judgement verdict = judge_tensor(outputs[i], errors);
    if (verdict.passed) continue;
    return device_error("the low-precision twin of the reference breaks its own limits: " +
                        verdict.reason);
  }
  return {};
}

/// A reference of nothing but zeros is right to demand zeros.
Status check_telling(const std::vector<TensorReference>& outputs) {
  for (const TensorReference& output : outputs) {
    if (output.largest == 0 || tensor_vacuity(output) >= kLeastVacuity) continue;
    return device_error("the limits of " + output.tensor.name +
                        " are so wide that an output of zeros comes near to passing: the check "
                        "would prove nothing; " +
                        (output.tolerance
                             ? "declare a smaller tolerance"
                             : "its twin (ROUND_INTERMEDIATES=1) is too far from the reference"));
  }
  return {};
}

}  // namespace

Result<OwnReferences> refer_own(DeviceSession& session, const BeginOrder& order,
                                const std::map<std::string, CUdeviceptr>& inputs) {
  Runner runner(session, order, inputs);
  FATUNE_TRY(const Results results, runner.run(order.reference, true));
  OwnReferences references;
  references.time = results.time;
  const std::vector<TensorPlan> tensors = order.own->outputs();
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    FATUNE_TRY(
        TensorReference output,
        make_tensor_reference(tensors[i], floats_of(results.outputs[i]), order.own->tolerance));
    references.outputs.push_back(std::move(output));
  }
  if (!order.own->tolerance) {
    FATUNE_TRY(const Results twin, runner.run(order.twin, false));
    FATUNE_TRY_STATUS(limit_by_twin(twin.outputs, order.problem.dtype, references.outputs));
  }
  FATUNE_TRY_STATUS(check_telling(references.outputs));
  return references;
}

}  // namespace fatune
