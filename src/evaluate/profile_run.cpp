// profile_run.cpp - a job to inputs on the device, a loaded program, and one pass in the range.
#include "evaluate/profile_run.hpp"

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/log.hpp"
#include "baseline/outside.hpp"
#include "evaluate/loaded_program.hpp"
#include "gpu/device.hpp"
#include "gpu/objects.hpp"
#include "gpu/profiler.hpp"
#include "problem/work.hpp"
#include "verify/guarded_buffer.hpp"
#include "verify/inputs.hpp"

namespace fatune {
namespace {

constexpr const char* kSchema = "fatune.profile-job/1";
constexpr int kTrialPasses = 3;  // of a plan that is compared with others

/// The problem's tensors in guarded memory, as candidates get them.
struct Tensors {
  GuardedBuffer q, k, v, out;
  std::optional<GuardedBuffer> lse;  ///< of a problem that wants it
  TensorAddresses addresses() const {
    return {q.address(), k.address(), v.address(), out.address(), lse ? lse->address() : 0};
  }
};

Result<Tensors> make_tensors(const gpu::Context& context, CUstream stream, const ProfileJob& job) {
  const HostInputs inputs = make_inputs(job.problem, {Distribution::kNormal, job.seed});
  Tensors tensors;
  const auto put = [&](const char* name, const std::vector<std::byte>& bytes,
                       GuardedBuffer& buffer) -> Status {
    FATUNE_TRY(buffer, GuardedBuffer::make(context, name, bytes.size(), kNanByte, stream));
    return gpu::copy_to_device(buffer.address(), bytes, stream);
  };
  FATUNE_TRY_STATUS(put("q", inputs.q, tensors.q));
  FATUNE_TRY_STATUS(put("k", inputs.k, tensors.k));
  FATUNE_TRY_STATUS(put("v", inputs.v, tensors.v));
  const auto bytes = static_cast<std::size_t>(query_bytes(job.problem).value);
  FATUNE_TRY(tensors.out, GuardedBuffer::make(context, "out", bytes, kGuardByte, stream));
  if (job.problem.lse) {
    const auto lse_size = static_cast<std::size_t>(lse_bytes(job.problem).value);
    FATUNE_TRY(tensors.lse, GuardedBuffer::make(context, "lse", lse_size, kGuardByte, stream));
  }
  return tensors;
}

/// For implementations that choose among plans: a few passes between two events.
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

Status run_job(const ProfileJob& job) {
  FATUNE_TRY(const gpu::DeviceFacts facts, gpu::device_facts(job.device));
  FATUNE_TRY(const gpu::Context context, gpu::make_context(job.device));
  FATUNE_TRY(const gpu::Stream stream, gpu::make_stream(context));
  FATUNE_TRY(const Tensors tensors, make_tensors(context, stream.raw(), job));
  if (!job.program.outside) {
    FATUNE_TRY(LoadedProgram program,
               LoadedProgram::load(context, stream.raw(), job.program, job.problem));
    FATUNE_TRY_STATUS(program.bind(tensors.addresses()));
    return run_passes(program, stream.raw(), job.warm_ups);
  }
  OutsideHost host;
  FATUNE_TRY(Executable * executable,
             host.open(*job.program.outside, {context, stream.raw(), job.problem, facts.l2_bytes}));
  FATUNE_TRY_STATUS(executable->bind(tensors.addresses()));
  FATUNE_TRY_STATUS(executable->settle([&](const std::function<Status()>& work) {
    return time_passes(context, stream.raw(), work);
  }));
  return run_passes(*executable, stream.raw(), job.warm_ups);
}

Result<Program> program_from_json(const Fields& fields) {
  Program program;
  if (fields.has("outside")) {
    FATUNE_TRY(const Fields outside, fields.object("outside"));
    OutsideProgram named;
    FATUNE_TRY(named.impl, outside.text("impl"));
    FATUNE_TRY(const Json* settings, outside.value("settings"));
    named.settings = *settings;
    program.outside = std::move(named);
    return program;
  }
  FATUNE_TRY(program.cubin, fields.text("cubin"));
  FATUNE_TRY(const Json* plan, fields.value("launch"));
  FATUNE_TRY(program.plan, launch_plan_from_json(*plan, fields.where()));
  return program;
}

}  // namespace

Json to_json(const ProfileJob& job) {
  Json object = {{"schema", kSchema},
                 {"device", job.device},
                 {"problem", to_json(job.problem)},
                 {"warm_ups", job.warm_ups},
                 {"seed", job.seed}};
  if (job.program.outside) {
    object["outside"] = {{"impl", job.program.outside->impl},
                         {"settings", job.program.outside->settings}};
  } else {
    object["cubin"] = job.program.cubin;
    object["launch"] = to_json(job.program.plan);
  }
  return object;
}

Result<ProfileJob> profile_job_from_json(const Json& object, const std::string& where) {
  const Fields fields(object, where);
  FATUNE_TRY(const std::string schema, fields.text("schema"));
  if (schema != kSchema) return fields.error("schema", "must be " + std::string(kSchema));
  ProfileJob job;
  FATUNE_TRY(const std::int64_t device, fields.integer("device"));
  job.device = static_cast<int>(device);
  FATUNE_TRY(const Json* problem, fields.value("problem"));
  FATUNE_TRY(job.problem, problem_from_json(*problem, where));
  FATUNE_TRY(const std::int64_t warm_ups, fields.integer("warm_ups"));
  job.warm_ups = static_cast<int>(warm_ups);
  FATUNE_TRY(const Json* seed, fields.value("seed"));
  if (!seed->is_number_integer()) return fields.error("seed", "must be an integer");
  job.seed = seed->get<std::uint64_t>();
  FATUNE_TRY(job.program, program_from_json(fields));
  return job;
}

int profile_worker_main(std::span<const std::string> args) {
  if (args.size() != 1) {
    log::error("profile-worker is started by fatune itself, with a job's file");
    return 2;
  }
  const auto run = [&]() -> Status {
    FATUNE_TRY(const Json json, load_json(args.front()));
    FATUNE_TRY(const ProfileJob job, profile_job_from_json(json, args.front()));
    return run_job(job);
  };
  const Status status = run();
  if (status) return 0;
  log::error(status.error().message);
  return 1;
}

}  // namespace fatune
