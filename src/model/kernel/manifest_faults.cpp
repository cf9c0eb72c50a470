// manifest_faults.cpp: Reads the expected fault of each value of a fixture's parameter.
#include <array>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "model/kernel/gate_table.hpp"
#include "model/kernel/manifest_parse.hpp"
#include "model/kernel/vocabulary.hpp"
#include "model/problem/suite.hpp"

namespace fatune {
namespace {

/// The outcomes that a fixture may have; model/results/measurement.hpp has all.
const std::array<std::string, 7> kFaultOutcomes = {"infeasible",   "compile_error", "launch_error",
                                                   "wrong_result", "timeout",       "crashed",
                                                   "measured"};
const std::array<std::string, 3> kInputs = {"q", "k", "v"};

std::vector<std::string> gate_names() {
  std::vector<std::string> names;
  for (const GateText& gate : gate_table()) names.emplace_back(gate.name);
  return names;
}

Result<Fault> parse_fault(const Fields& fields) {
  FATUNE_TRY_STATUS(
      fields.only({"value", "meaning", "outcome", "gate", "problem", "when", "persisting_window"}));
  FATUNE_TRY_STATUS(parse_words(fields, "meaning"));  // for people who read the file
  Fault fault;
  FATUNE_TRY(fault.outcome, parse_one_of(fields, "outcome", nullptr, kFaultOutcomes));
  FATUNE_TRY(fault.gate, parse_one_of(fields, "gate", nullptr, gate_names()));
  FATUNE_TRY(fault.persisting_window, parse_one_of(fields, "persisting_window", "", kInputs));
  FATUNE_TRY(fault.when.require, fields.text_or("when", ""));
  fault.when.where = place(fields, "when");
  if (!fields.has("problem")) return fault;
  FATUNE_TRY(const Fields problem, fields.object("problem"));
  FATUNE_TRY_STATUS(
      problem.only({"shape", "kv_heads", "seq_kv", "dtype", "quant", "lse", "layout"}));
  FATUNE_TRY(fault.problem, parse_problem(problem));
  return fault;
}

}  // namespace

Result<std::vector<Fault>> take_faults(const Fields& parameter, Json& values) {
  std::vector<Fault> faults;
  if (!values.is_array() || values.empty() || !values.front().is_object()) return faults;
  FATUNE_TRY(const std::vector<Fields> objects, parameter.objects_or_empty("values"));
  values = Json::array();
  for (const Fields& object : objects) {
    FATUNE_TRY(const Json* value, object.value("value"));
    if (!value->is_string()) return object.error("value", "must be a word");
    values.push_back(*value);
    FATUNE_TRY(faults.emplace_back(), parse_fault(object));
  }
  return faults;
}

Status add_fault_rules(const Fields& root, Manifest& manifest) {
  for (const Parameter& parameter : manifest.parameters) {
    if (parameter.faults.empty()) continue;
    if (manifest.role != Role::kFault)
      return root.error("parameters", "have values with an outcome, which is for role 'fault'");
    for (std::size_t i = 0; i < parameter.faults.size(); ++i) {
      Rule rule = parameter.faults[i].when;
      if (rule.require.empty()) continue;
      FATUNE_TRY_STATUS(check_expression(rule.require, rule.where, expression_names(manifest)));
      rule.require =
          fmt::format("{} != {} || ({})", parameter.name,
                      word_constant(parameter.name, parameter.values[i].word), rule.require);
      rule.why = "the fault shows nowhere else";
      manifest.constraints.push_back(std::move(rule));
    }
  }
  return {};
}

const Fault* fault_of(const Manifest& manifest, const Config& config) {
  for (const Parameter& parameter : manifest.parameters) {
    if (parameter.faults.empty()) continue;
    if (const Value* value = config.find(parameter.name))
      return &parameter.faults.at(static_cast<std::size_t>(value->number));
  }
  return nullptr;
}

}  // namespace fatune
