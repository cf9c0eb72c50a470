// environment.cpp - device, driver and compiler to a JSON object and back.
#include "model/results/environment.hpp"

#include <nlohmann/json.hpp>

namespace fatune {
namespace {

Json limits_to_json(const DeviceLimits& x) {
  return Json{{"arch", name(x.arch)},
              {"max_shared_block", x.max_shared_block},
              {"max_shared_sm", x.max_shared_sm},
              {"max_threads_block", x.max_threads_block},
              {"max_threads_sm", x.max_threads_sm},
              {"max_registers_sm", x.max_registers_sm},
              {"max_blocks_sm", x.max_blocks_sm},
              {"sm_count", x.sm_count},
              {"memory_bytes", x.memory_bytes}};
}

Result<DeviceLimits> limits_from_json(const Fields& fields) {
  DeviceLimits x;
  FATUNE_TRY(const std::string arch_text, fields.text("arch"));
  const Result<Arch> arch = parse_arch(arch_text);
  if (!arch) return fields.error("arch", "is wrong: " + arch.error().message);
  x.arch = *arch;
  FATUNE_TRY(x.max_shared_block, fields.integer("max_shared_block"));
  FATUNE_TRY(x.max_shared_sm, fields.integer("max_shared_sm"));
  FATUNE_TRY(x.max_threads_block, fields.integer_or("max_threads_block", x.max_threads_block));
  FATUNE_TRY(x.max_threads_sm, fields.integer_or("max_threads_sm", x.max_threads_sm));
  FATUNE_TRY(x.max_registers_sm, fields.integer_or("max_registers_sm", x.max_registers_sm));
  FATUNE_TRY(x.max_blocks_sm, fields.integer_or("max_blocks_sm", x.max_blocks_sm));
  FATUNE_TRY(x.sm_count, fields.integer("sm_count"));
  FATUNE_TRY(x.memory_bytes, fields.integer_or("memory_bytes", 0));
  return x;
}

}  // namespace

Json to_json(const Environment& x) {
  Json json{{"device_name", x.device_name},
            {"device_uuid", x.device_uuid},
            {"driver", x.driver},
            {"cuda_driver", x.cuda_driver},
            {"nvrtc", x.nvrtc},
            {"fatune", x.fatune},
            {"host", x.host},
            {"cpu_cores", x.cpu_cores},
            {"limits", limits_to_json(x.limits)},
            {"l2_bytes", x.l2_bytes},
            {"memory_bus_bits", x.memory_bus_bits},
            {"memory_clock_mhz", x.memory_clock_mhz},
            {"max_sm_clock_mhz", x.max_sm_clock_mhz}};
  if (x.recorded) json["recorded"] = true;
  return json;
}

Result<Environment> environment_from_json(const Json& object, const std::string& where) {
  const Fields fields(object, where);
  Environment x;
  FATUNE_TRY(x.device_name, fields.text("device_name"));
  FATUNE_TRY(x.device_uuid, fields.text_or("device_uuid", ""));
  FATUNE_TRY(x.driver, fields.text_or("driver", ""));
  FATUNE_TRY(x.cuda_driver, fields.text_or("cuda_driver", ""));
  FATUNE_TRY(x.nvrtc, fields.text_or("nvrtc", ""));
  FATUNE_TRY(x.fatune, fields.text_or("fatune", ""));
  FATUNE_TRY(x.host, fields.text_or("host", ""));
  FATUNE_TRY(x.cpu_cores, fields.int_or("cpu_cores", x.cpu_cores, 0));
  FATUNE_TRY(const Fields limits, fields.object("limits"));
  FATUNE_TRY(x.limits, limits_from_json(limits));
  FATUNE_TRY(x.l2_bytes, fields.integer_or("l2_bytes", 0));
  FATUNE_TRY(x.memory_bus_bits, fields.int_or("memory_bus_bits", x.memory_bus_bits, 0));
  FATUNE_TRY(x.memory_clock_mhz, fields.int_or("memory_clock_mhz", x.memory_clock_mhz, 0));
  FATUNE_TRY(x.max_sm_clock_mhz, fields.int_or("max_sm_clock_mhz", x.max_sm_clock_mhz, 0));
  FATUNE_TRY(x.recorded, fields.boolean_or("recorded", false));
  return x;
}

}  // namespace fatune
