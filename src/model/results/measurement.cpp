// measurement.cpp - observations to JSON objects and back.
#include "model/results/measurement.hpp"

#include <array>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "model/results/exact.hpp"

namespace fatune {
namespace {

Result<std::optional<double>> optional_number(const Fields& fields, std::string_view key) {
  if (!fields.has(key)) return std::optional<double>();
  FATUNE_TRY(const double value, exact_number(fields, key));
  return std::optional<double>(value);
}

Result<std::vector<ToolVerdict>> sanitizer_from_json(const Fields& fields) {
  std::vector<ToolVerdict> verdicts;
  if (!fields.has("sanitizer")) return verdicts;
  FATUNE_TRY(const Fields tools, fields.object("sanitizer"));
  for (const auto& [tool, value] : tools.json().items()) {
    FATUNE_TRY(const Fields found, tools.object(tool));
    ToolVerdict verdict{tool, "", ""};
    FATUNE_TRY(verdict.result, found.text("result"));
    FATUNE_TRY(verdict.reason, found.text_or("reason", ""));
    verdicts.push_back(std::move(verdict));
  }
  return verdicts;
}

Json to_json(const LseErrors& x) {
  return {{"margin", exact(x.margin)}, {"max_abs_diff", exact(x.max_abs_diff)}};
}

Result<std::optional<LseErrors>> lse_from_json(const Fields& verification) {
  if (!verification.has("lse")) return std::optional<LseErrors>();
  FATUNE_TRY(const Fields fields, verification.object("lse"));
  LseErrors errors;
  FATUNE_TRY(errors.margin, exact_number(fields, "margin"));
  FATUNE_TRY(errors.max_abs_diff, exact_number(fields, "max_abs_diff"));
  return std::optional<LseErrors>(errors);
}

}  // namespace

Json to_json(const Timing& x) {
  Json json{{"median_us", exact(x.median_us)},
            {"q1_us", exact(x.q1_us)},
            {"q3_us", exact(x.q3_us)},
            {"min_us", exact(x.min_us)},
            {"sem_relative", exact(x.sem_relative)},
            {"samples", x.samples},
            {"launches_per_sample", x.launches_per_sample}};
  if (x.killed_early) json["killed_early"] = true;
  if (x.ci95_low_us) json["ci95_low_us"] = exact(*x.ci95_low_us);
  if (x.ci95_high_us) json["ci95_high_us"] = exact(*x.ci95_high_us);
  return json;
}

Result<Timing> timing_from_json(const Json& object, const std::string& where) {
  const Fields fields(object, where);
  Timing x;
  FATUNE_TRY(x.median_us, exact_number(fields, "median_us"));
  FATUNE_TRY(x.q1_us, exact_number(fields, "q1_us"));
  FATUNE_TRY(x.q3_us, exact_number(fields, "q3_us"));
  FATUNE_TRY(x.min_us, exact_number(fields, "min_us"));
  FATUNE_TRY(x.sem_relative, exact_number_or(fields, "sem_relative", 0));
  FATUNE_TRY(x.samples, fields.integer("samples"));
  FATUNE_TRY(x.launches_per_sample, fields.integer_or("launches_per_sample", 1));
  FATUNE_TRY(x.killed_early, fields.boolean_or("killed_early", false));
  FATUNE_TRY(x.ci95_low_us, optional_number(fields, "ci95_low_us"));
  FATUNE_TRY(x.ci95_high_us, optional_number(fields, "ci95_high_us"));
  return x;
}

const std::vector<std::string>& sanitizer_tools() {
  static const std::vector<std::string> tools = {"memcheck", "racecheck", "synccheck"};
  return tools;
}

std::vector<ToolVerdict> sanitizer_not_run(const std::string& reason) {
  std::vector<ToolVerdict> verdicts;
  for (const std::string& tool : sanitizer_tools()) verdicts.push_back({tool, "not_run", reason});
  return verdicts;
}

Json to_json(const std::vector<ToolVerdict>& verdicts) {
  Json object = Json::object();
  for (const ToolVerdict& verdict : verdicts) {
    object[verdict.tool] = {{"result", verdict.result}};
    if (!verdict.reason.empty()) object[verdict.tool]["reason"] = verdict.reason;
  }
  return object;
}

Json to_json(const Verification& x) {
  Json json{{"passed", x.passed}};
  if (x.skipped) json["skipped"] = true;
  json["margin"] = exact(x.margin);
  json["worst_rule"] = x.worst_rule;
  json["max_abs_diff"] = exact(x.max_abs_diff);
  json["mean_abs_diff"] = exact(x.mean_abs_diff);
  json["relative_l2"] = exact(x.relative_l2);
  json["allclose_1e3"] = x.allclose_1e3;
  if (x.lse) json["lse"] = to_json(*x.lse);
  json["seeds"] = x.seeds;
  json["gates"] = x.gates;
  if (!x.not_run.empty()) json["not_run"] = x.not_run;
  if (!x.precision_note.empty()) json["precision_note"] = x.precision_note;
  if (!x.sanitizer.empty()) json["sanitizer"] = to_json(x.sanitizer);
  return json;
}

Result<Verification> verification_from_json(const Json& object, const std::string& where) {
  const Fields fields(object, where);
  Verification x;
  FATUNE_TRY_STATUS(fields.require({"passed"}));
  FATUNE_TRY(x.passed, fields.boolean_or("passed", false));
  FATUNE_TRY(x.skipped, fields.boolean_or("skipped", false));
  FATUNE_TRY(x.margin, exact_number(fields, "margin"));
  FATUNE_TRY(x.worst_rule, fields.text_or("worst_rule", ""));
  FATUNE_TRY(x.max_abs_diff, exact_number_or(fields, "max_abs_diff", 0));
  FATUNE_TRY(x.mean_abs_diff, exact_number_or(fields, "mean_abs_diff", 0));
  FATUNE_TRY(x.relative_l2, exact_number_or(fields, "relative_l2", 0));
  FATUNE_TRY(x.allclose_1e3, fields.boolean_or("allclose_1e3", false));
  FATUNE_TRY(x.lse, lse_from_json(fields));
  FATUNE_TRY(x.seeds, fields.int_or("seeds", x.seeds));
  FATUNE_TRY(x.gates, fields.texts_or("gates", {}));
  FATUNE_TRY(x.not_run, fields.texts_or("not_run", {}));
  FATUNE_TRY(x.precision_note, fields.text_or("precision_note", ""));
  FATUNE_TRY(x.sanitizer, sanitizer_from_json(fields));
  return x;
}

Json to_json(const Resources& x) {
  Json json{{"registers", x.registers},
            {"static_shared_bytes", x.static_shared_bytes},
            {"dynamic_shared_bytes", x.dynamic_shared_bytes},
            {"spill_store_bytes", x.spill_store_bytes},
            {"spill_load_bytes", x.spill_load_bytes},
            {"stack_bytes", x.stack_bytes},
            {"threads", x.threads},
            {"blocks_per_sm", x.blocks_per_sm}};
  if (!x.warnings.empty()) json["warnings"] = x.warnings;
  return json;
}

Result<Resources> resources_from_json(const Json& object, const std::string& where) {
  const Fields fields(object, where);
  Resources x;
  FATUNE_TRY_STATUS(fields.require({"registers"}));
  FATUNE_TRY(x.registers, fields.int_or("registers", x.registers));
  FATUNE_TRY(x.static_shared_bytes, fields.integer_or("static_shared_bytes", 0));
  FATUNE_TRY(x.dynamic_shared_bytes, fields.integer_or("dynamic_shared_bytes", 0));
  FATUNE_TRY(x.spill_store_bytes, fields.integer_or("spill_store_bytes", 0));
  FATUNE_TRY(x.spill_load_bytes, fields.integer_or("spill_load_bytes", 0));
  FATUNE_TRY(x.stack_bytes, fields.integer_or("stack_bytes", 0));
  FATUNE_TRY(x.threads, fields.int_or("threads", x.threads));
  FATUNE_TRY(x.blocks_per_sm, fields.int_or("blocks_per_sm", x.blocks_per_sm));
  FATUNE_TRY(x.warnings, fields.texts_or("warnings", {}));
  return x;
}

Json to_json(const Conditions& x) {
  return Json{{"sm_clock_mhz_min", x.sm_clock_mhz_min},
              {"sm_clock_mhz_max", x.sm_clock_mhz_max},
              {"memory_clock_mhz", x.memory_clock_mhz},
              {"temperature_c", x.temperature_c},
              {"power_w", exact(x.power_w)},
              {"throttle_reasons", x.throttle_reasons},
              {"discarded_samples", x.discarded_samples}};
}

Result<Conditions> conditions_from_json(const Json& object, const std::string& where) {
  const Fields fields(object, where);
  Conditions x;
  FATUNE_TRY(x.sm_clock_mhz_min, fields.int_or("sm_clock_mhz_min", x.sm_clock_mhz_min));
  FATUNE_TRY(x.sm_clock_mhz_max, fields.int_or("sm_clock_mhz_max", x.sm_clock_mhz_max));
  FATUNE_TRY(x.memory_clock_mhz, fields.int_or("memory_clock_mhz", x.memory_clock_mhz));
  FATUNE_TRY(x.temperature_c, fields.int_or("temperature_c", x.temperature_c));
  FATUNE_TRY(x.power_w, exact_number_or(fields, "power_w", 0));
  FATUNE_TRY(const Json* reasons, fields.value("throttle_reasons"));
  if (!reasons->is_number_unsigned()) {
    return fields.error("throttle_reasons", "must be a whole number of at least 0");
  }
  x.throttle_reasons = reasons->get<std::uint64_t>();
  FATUNE_TRY(x.discarded_samples, fields.integer_or("discarded_samples", 0));
  return x;
}

std::vector<std::string> throttle_names(std::uint64_t reasons) {
  // Bit i of nvmlDeviceGetCurrentClocksEventReasons, from NVML's documentation.
  constexpr std::array kNames = {"gpu_idle",    "app_clocks",     "sw_power_cap",
                                 "hw_slowdown", "sync_boost",     "sw_thermal",
                                 "hw_thermal",  "hw_power_brake", "display_clock"};
  std::vector<std::string> names;
  for (std::size_t bit = 0; bit < 64; ++bit) {
    if ((reasons >> bit & 1U) == 0) continue;
    names.push_back(bit < kNames.size() ? kNames[bit]
                                        : fmt::format("bit {:#x}", std::uint64_t{1} << bit));
  }
  return names;
}

}  // namespace fatune
