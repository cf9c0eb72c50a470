// trace_set.cpp - JSON to definitions and workloads; axes to sizes; sizes and reference to
// problems.
#include "model/interchange/trace_set.hpp"

#include <algorithm>
#include <limits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/json.hpp"
#include "core/text.hpp"
#include "model/interchange/reference.hpp"

namespace fatune {
namespace {

Result<TraceAxis> parse_axis(const std::string& name, const Json& json, const std::string& where) {
  const Fields axis(json, field_place(where, "axes." + name));
  TraceAxis made{.name = name};
  FATUNE_TRY(const std::string type, axis.text("type"));
  if (type == "const") {
    FATUNE_TRY(made.constant, axis.integer("value"));
  } else if (type == "expr") {
    FATUNE_TRY(made.expression, axis.text("expression"));
  } else if (type != "var") {
    return axis.error("type", fmt::format("is '{}', not const, var or expr", type));
  }
  return made;
}

Result<std::vector<TraceTensor>> parse_trace_tensors(const Fields& fields, const std::string& key) {
  FATUNE_TRY(const Fields object, fields.object(key));
  std::vector<TraceTensor> tensors;
  for (const auto& item : object.json().items()) {
    const Fields tensor(item.value(), field_place(fields.where(), key + "." + item.key()));
    TraceTensor made{.name = item.key()};
    FATUNE_TRY(made.dtype, tensor.text("dtype"));
    FATUNE_TRY(const Json* shape, tensor.value("shape"));
    if (!shape->is_null()) {
      FATUNE_TRY(made.shape, tensor.texts_or("shape", {}));
    }
    tensors.push_back(std::move(made));
  }
  return tensors;
}

Result<TraceWorkload> parse_workload(const Json& line, const std::string& where) {
  const Fields fields(line, where);
  TraceWorkload made;
  FATUNE_TRY(made.definition, fields.text_or("definition", ""));
  const bool wrapped = fields.has("workload");
  const Fields workload(wrapped ? line.at("workload") : line,
                        wrapped ? field_place(where, "workload") : where);
  FATUNE_TRY(made.uuid, workload.text("uuid"));
  FATUNE_TRY(const Fields axes, workload.object("axes"));
  for (const auto& item : axes.json().items()) {
    FATUNE_TRY(made.axes[item.key()], axes.integer(item.key()));
  }
  if (!workload.has("inputs")) return made;
  FATUNE_TRY(const Fields inputs, workload.object("inputs"));
  for (const auto& item : inputs.json().items()) {
    FATUNE_TRY(const Fields input, inputs.object(item.key()));
    FATUNE_TRY(const std::string type, input.text("type"));
    if (type != "scalar") continue;
    FATUNE_TRY(const Json* value, input.value("value"));
    if (value->is_number()) made.numbers[item.key()] = value->get<double>();
  }
  return made;
}

/// Constants first, then what the workload tells, then what they give.
Result<std::map<std::string, std::int64_t>> axis_values(const TraceDefinition& definition,
                                                        const TraceWorkload& workload,
                                                        const std::string& where) {
  std::map<std::string, std::int64_t> values;
  for (const TraceAxis& axis : definition.axes) {
    const auto told = workload.axes.find(axis.name);
    if (axis.constant) {
      values[axis.name] = *axis.constant;
    } else if (axis.expression.empty() && told != workload.axes.end()) {
      values[axis.name] = told->second;
    } else if (axis.expression.empty()) {
      return file_error(fmt::format("{}: axis '{}' has no value", where, axis.name));
    }
  }
  for (const TraceAxis& axis : definition.axes) {
    if (axis.expression.empty()) continue;
    const std::string place = fmt::format("{}: axis '{}'", where, axis.name);
    FATUNE_TRY(const PyExpression expression, parse_python_expression(axis.expression, place));
    FATUNE_TRY(values[axis.name], whole_value(expression, values, place));
  }
  return values;
}

Result<std::vector<std::int64_t>> tensor_shape(const TraceTensor& tensor,
                                               const std::map<std::string, std::int64_t>& axes,
                                               const std::string& where) {
  std::vector<std::int64_t> shape;
  for (const std::string& name : tensor.shape) {
    const auto axis = axes.find(name);
    if (axis == axes.end()) {
      return file_error(fmt::format("{}: '{}' has the axis '{}', which is not declared", where,
                                    tensor.name, name));
    }
    shape.push_back(axis->second);
  }
  return shape;
}

std::string tensor_names(const std::vector<TraceTensor>& tensors) {
  std::vector<std::string> names;
  for (const TraceTensor& tensor : tensors) names.push_back(tensor.name);
  return join(names, ", ");
}

/// Three tensors in and one out, of one element type.
Result<Dtype> tensor_dtype(const TraceDefinition& definition, const std::string& where) {
  std::vector<TraceTensor> tensors = definition.inputs;
  std::erase_if(tensors, [](const TraceTensor& each) { return each.shape.empty(); });
  if (tensors.size() != 3 || definition.outputs.size() != 1) {
    return file_error(fmt::format(
        "{}: is of the tensors {} to {}: attention here has three tensors in and one out", where,
        tensor_names(tensors), tensor_names(definition.outputs)));
  }
  tensors.push_back(definition.outputs.front());
  for (const TraceTensor& each : tensors) {
    if (each.dtype != tensors.front().dtype) {
      return file_error(fmt::format("{}: '{}' is {}, '{}' is {}: kernels have one element type",
                                    where, each.name, each.dtype, tensors.front().name,
                                    tensors.front().dtype));
    }
  }
  const Result<Dtype> dtype = dtype_of_torch(tensors.front().dtype);
  if (!dtype) return file_error(where + ": " + dtype.error().message);
  if (size_of(*dtype) == 2) return dtype;
  return file_error(fmt::format("{}: is of {}: fp8 attention here has factors beside q, k and v",
                                where, tensors.front().dtype));
}

std::vector<std::int64_t> output_shape(const Problem& p) {
  if (p.layouts.out.kind == LayoutKind::kBshd) return {p.batch, p.seq_q, p.heads, p.head_dim};
  return {p.batch, p.heads, p.seq_q, p.head_dim};
}

}  // namespace

Result<TraceDefinition> parse_definition(std::string_view text, const std::string& where) {
  FATUNE_TRY(const Json document, parse_json(text, where));
  const Fields fields(document, where);
  TraceDefinition made;
  FATUNE_TRY(made.name, fields.text("name"));
  if (made.name.empty()) return fields.error("name", "must not be empty");
  FATUNE_TRY(const Fields axes, fields.object("axes"));
  for (const auto& item : axes.json().items()) {
    FATUNE_TRY(TraceAxis axis, parse_axis(item.key(), item.value(), where));
    made.axes.push_back(std::move(axis));
  }
  FATUNE_TRY(made.inputs, parse_trace_tensors(fields, "inputs"));
  FATUNE_TRY(made.outputs, parse_trace_tensors(fields, "outputs"));
  FATUNE_TRY(made.reference, fields.text("reference"));
  return made;
}

Result<std::vector<TraceWorkload>> parse_workloads(std::string_view text,
                                                   const std::string& where) {
  FATUNE_TRY_STATUS(check_values(text, where));
  std::vector<TraceWorkload> workloads;
  std::size_t number = 0;
  for (const std::string& line : split(text, '\n')) {
    ++number;
    if (trim(line).empty()) continue;
    const std::string place = fmt::format("line {} of {}", number, where);
    FATUNE_TRY(const Json json, parse_json(line, place));
    FATUNE_TRY(TraceWorkload workload, parse_workload(json, place));
    workloads.push_back(std::move(workload));
  }
  return workloads;
}

Status check_tensors(const TraceDefinition& definition, const std::string& where) {
  const Result<Dtype> dtype = tensor_dtype(definition, where);
  return dtype ? Status() : dtype.error();
}

Result<Problem> problem_of(const TraceDefinition& definition, const TraceWorkload& workload,
                           const std::string& where) {
  FATUNE_TRY(const Dtype dtype, tensor_dtype(definition, where));
  FATUNE_TRY(const auto axes, axis_values(definition, workload, where));
  std::vector<ReferenceArgument> arguments;
  for (const TraceTensor& input : definition.inputs) {
    ReferenceArgument argument{input.name, !input.shape.empty(), {}, input.dtype};
    FATUNE_TRY(argument.shape, tensor_shape(input, axes, where));
    const auto number = workload.numbers.find(input.name);
    argument.number = number == workload.numbers.end() ? std::numeric_limits<double>::quiet_NaN()
                                                       : number->second;
    arguments.push_back(std::move(argument));
  }
  const std::string place = field_place(where, "reference");
  FATUNE_TRY(const auto module, parse_python(definition.reference, place));
  const PyStatement* run = find_block(module, PyStatement::Kind::kFunction, "run");
  if (run == nullptr) return file_error(place + " has no function run()");
  FATUNE_TRY(Problem problem, attention_of(*run, arguments, module, place));
  problem.dtype = dtype;
  if (const Status valid = validate(problem); !valid)
    return file_error(where + ": " + valid.error().message);
  const TraceTensor& output = definition.outputs.front();
  FATUNE_TRY(const auto shape, tensor_shape(output, axes, where));
  if (problem.layouts.out.kind != LayoutKind::kStrides && shape != output_shape(problem)) {
    return file_error(fmt::format("{}: '{}' is declared as ({}), but its reference gives ({})",
                                  where, output.name, fmt::join(shape, ", "),
                                  fmt::join(output_shape(problem), ", ")));
  }
  return problem;
}

}  // namespace fatune
