// profile_run.cpp: Runs a program once within the range that the profiler looks at, and may keep
// its outputs.
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/fields.hpp"
#include "core/file.hpp"
#include "core/log.hpp"
#include "gpu/driver.hpp"
#include "gpu/objects.hpp"
#include "gpu/telemetry.hpp"
#include "model/problem/problem.hpp"
#include "worker/baselines/outside.hpp"
#include "worker/device/loaded_program.hpp"
#include "worker/protocol/messages.hpp"
#include "worker/verify/guarded_buffer.hpp"
#include "worker/verify/inputs.hpp"

namespace fatune {
namespace {

constexpr int kTrialPasses = 3;  // passes of a plan that is compared with others

/// Makes the problem's tensors in guarded memory, as candidates get them.
Result<std::vector<GuardedBuffer>> make_tensors(const gpu::Context& context, CUstream stream,
                                                const ProfileJob& job, const OperationPlan& plan) {
  const InputCase which{Distribution::kNormal, job.seed};
  FATUNE_TRY(
      std::vector<GuardedBuffer> buffers,
      upload_inputs(context, stream, plan.inputs(), input_tensors(job.problem, plan, which)));
  for (const BufferPlan& output : buffers_of(plan.outputs())) {
    FATUNE_TRY(GuardedBuffer buffer,
               GuardedBuffer::make(context, output.name, output.bytes, kGuardByte, stream));
    buffers.push_back(std::move(buffer));
  }
  return buffers;
}

/// Times a few passes between two events, for baselines that choose among plans.
Result<double> time_passes(const gpu::Context& context, CUstream stream,
                           const std::function<Status()>& work) {
  FATUNE_TRY(const gpu::Event start, gpu::make_event(context));
  FATUNE_TRY(const gpu::Event stop, gpu::make_event(context));
  FATUNE_TRY_STATUS(work());
  FATUNE_TRY_STATUS(gpu::record(start.raw(), stream));
  for (int i = 0; i < kTrialPasses; ++i) FATUNE_TRY_STATUS(work());
  FATUNE_TRY_STATUS(gpu::record(stop.raw(), stream));
  FATUNE_TRY_STATUS(gpu::synchronize(stream));
  FATUNE_TRY(const Micros time, gpu::elapsed(start.raw(), stop.raw()));
  return time.value / kTrialPasses;
}

Status run_passes(Executable& executable, CUstream stream, int warm_ups) {
  for (int i = 0; i < warm_ups; ++i) FATUNE_TRY_STATUS(executable.queue());
  FATUNE_TRY_STATUS(gpu::synchronize(stream));
  FATUNE_TRY_STATUS(gpu::start_profiler_range());
  FATUNE_TRY_STATUS(executable.queue());
  FATUNE_TRY_STATUS(gpu::synchronize(stream));
  return gpu::stop_profiler_range();
}

/// Writes each output as it lies in memory to NAME.bin in the folder.
Status write_outputs(const OperationPlan& plan, const TensorAddresses& tensors,
                     const std::filesystem::path& folder, CUstream stream) {
  FATUNE_TRY_STATUS(make_directories(folder));
  std::string memory;
  for (const TensorPlan& output : plan.outputs()) {
    memory.resize(static_cast<std::size_t>(output.span()) * output.width());
    FATUNE_TRY_STATUS(gpu::copy_to_host(std::as_writable_bytes(std::span(memory)),
                                        tensors.at(output.name), stream));
    FATUNE_TRY_STATUS(replace_file(folder / (output.name + ".bin"), memory));
  }
  return {};
}

Status run_job(const ProfileJob& job) {
  FATUNE_TRY(const gpu::DeviceFacts facts, gpu::device_facts(job.device));
  FATUNE_TRY(const gpu::Context context, gpu::make_context(job.device));
  FATUNE_TRY(const gpu::Stream stream, gpu::make_stream(context));
  const OperationPlan plan = plan_of(job.problem, job.custom);
  FATUNE_TRY(const auto buffers, make_tensors(context, stream.raw(), job, plan));
  const TensorAddresses tensors = addresses_of(plan, pointers_to({buffers}));
  FATUNE_TRY_STATUS(fill_read_outputs(plan, tensors, stream.raw()));
  if (!job.program.outside) {
    FATUNE_TRY(LoadedProgram program,
               LoadedProgram::load(context, stream.raw(), job.program, job.problem));
    FATUNE_TRY_STATUS(program.bind(tensors));
    FATUNE_TRY_STATUS(run_passes(program, stream.raw(), job.warm_ups));
    return job.outputs.empty() ? Status() : write_outputs(plan, tensors, job.outputs, stream.raw());
  }
  OutsideHost host;
  FATUNE_TRY(Executable * executable,
             host.open(*job.program.outside,
                       {context, stream.raw(), job.problem, facts.l2_bytes, "", job.custom}));
  FATUNE_TRY_STATUS(executable->bind(tensors));
  FATUNE_TRY_STATUS(executable->settle([&](const std::function<Status()>& work) {
    return time_passes(context, stream.raw(), work);
  }));
  return run_passes(*executable, stream.raw(), job.warm_ups);
}

}  // namespace

int profile_worker_main(std::span<const std::string> args) {
  if (args.size() != 1) {
    log::error("profile-worker is started by fatune itself, with a job's file");
    return 2;
  }
  const auto run = [&]() -> Status {
    FATUNE_TRY(const Json json, load_json(args.front()));
    FATUNE_TRY(const ProfileJob job, read_value<ProfileJob>(json, args.front()));
    return run_job(job);
  };
  const Status status = run();
  if (status) return 0;
  log::error(status.error().message);
  return 1;
}

}  // namespace fatune
