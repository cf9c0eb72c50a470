// profile_job.cpp - profile jobs to JSON objects and back.
#include "worker/protocol/profile_job.hpp"

#include <nlohmann/json.hpp>

namespace fatune {
namespace {

constexpr const char* kSchema = "fatune.profile-job/1";

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
  if (job.own) object["own"] = to_json(*job.own);
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
  if (fields.has("own")) {
    FATUNE_TRY(const Json* own, fields.value("own"));
    FATUNE_TRY(job.own, own_plan_from_json(*own, where));
  }
  FATUNE_TRY(const std::int64_t warm_ups, fields.integer("warm_ups"));
  job.warm_ups = static_cast<int>(warm_ups);
  FATUNE_TRY(const Json* seed, fields.value("seed"));
  if (!seed->is_number_integer()) return fields.error("seed", "must be an integer");
  job.seed = seed->get<std::uint64_t>();
  FATUNE_TRY(job.program, program_from_json(fields));
  return job;
}

}  // namespace fatune
