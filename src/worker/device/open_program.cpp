// open_program.cpp - loads machine code, or asks the host of implementations from elsewhere.
#include "worker/device/open_program.hpp"

#include <utility>

#include "worker/device/loaded_program.hpp"

namespace fatune {
namespace {

/// For plans that are compared with each other before any is verified.
Result<double> time_work(DeviceSession& session, DeviceProblem& problem,
                         const std::function<Status()>& work) {
  session.sampler->set_limit(problem.kernel_limit());
  FATUNE_TRY(const Sampled sampled, session.sampler->hot(work, std::nullopt));
  if (sampled.hung) return device_error("a plan does not come to an end");
  return sampled.timing.median_us;
}

}  // namespace

Result<OpenProgram> OpenProgram::open(DeviceSession& session, DeviceProblem& problem,
                                      const Program& program) {
  OpenProgram opened;
  const CUstream stream = session.stream.raw();
  const TensorAddresses tensors = problem.addresses(problem.sets().front());
  if (!program.outside) {
    FATUNE_TRY(LoadedProgram loaded,
               LoadedProgram::load(session.context, stream, program, problem.problem()));
    opened.owned_ = std::make_unique<LoadedProgram>(std::move(loaded));
    opened.executable_ = opened.owned_.get();
    FATUNE_TRY_STATUS(opened.executable_->bind(tensors));
    return opened;
  }
  const OutsideSetting setting{session.context, stream, problem.problem(), session.facts.l2_bytes,
                               session.facts.uuid};
  const bool fresh = !session.outside.holds(program.outside->impl);
  FATUNE_TRY(opened.executable_, session.outside.open(*program.outside, setting));
  FATUNE_TRY_STATUS(opened.executable_->bind(tensors));
  if (fresh) {
    FATUNE_TRY_STATUS(opened.executable_->settle(
        [&](const std::function<Status()>& work) { return time_work(session, problem, work); }));
  }
  return opened;
}

}  // namespace fatune
