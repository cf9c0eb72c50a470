// operation_parse.cpp: Parses a manifest's 'operation', declared or named.
#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/text.hpp"
#include "model/kernel/manifest_parse.hpp"
#include "model/kernel/operation.hpp"
#include "model/kernel/vocabulary.hpp"

namespace fatune {
namespace {

const std::array<std::string, 4> kFills = {"normal", "uniform", "zeros", "constant"};
const std::array<std::string, 3> kHardInputs = {"uniform", "outliers", "zeros"};
constexpr std::size_t kMostDimensions = 8;  // chosen: beyond any kernel's number

Status parse_size_specs(const Fields& fields, DeclaredOperation& operation) {
  FATUNE_TRY(const auto list, fields.objects_or_empty("sizes"));
  if (list.empty()) return fields.error("sizes", "must name at least one size");
  for (const Fields& item : list) {
    FATUNE_TRY_STATUS(item.only({"name", "meaning"}));
    SizeSpec size;  // the name differs from all names before it
    FATUNE_TRY(size.name, parse_macro_name(item, operation));
    FATUNE_TRY(size.meaning, parse_words(item, "meaning"));
    operation.sizes.push_back(std::move(size));
  }
  return {};
}

Result<Fill> parse_fill(const Fields& fields) {
  Fill fill;
  FATUNE_TRY(const std::string word, parse_one_of(fields, "fill", nullptr, kFills));
  const bool drawn = word == kFills[0] || word == kFills[1];
  for (const char* key : {"scale", "offset"}) {
    if (fields.has(key) && !drawn)
      return fields.error(key, "is for tensors that are filled with normal or uniform");
  }
  if (fields.has("value") != (word == "constant")) {
    return fields.error("value", word == "constant"
                                     ? "is missing: what a constant tensor is filled with"
                                     : "is for tensors that are filled with constant");
  }
  if (!drawn) {
    fill.kind = Fill::Kind::kConstant;
    FATUNE_TRY(fill.offset, fields.number_or("value", 0));
    return fill;
  }
  fill.kind = word == kFills[0] ? Fill::Kind::kNormal : Fill::Kind::kUniform;
  FATUNE_TRY(fill.scale, fields.number_or("scale", 1));
  FATUNE_TRY(fill.offset, fields.number_or("offset", 0));
  return fill;
}

Result<TensorSpec> parse_tensor(const Fields& fields, const DeclaredOperation& operation) {
  FATUNE_TRY_STATUS(
      fields.only({"name", "type", "shape", "output", "fill", "scale", "offset", "value"}));
  TensorSpec tensor;
  FATUNE_TRY(tensor.name, parse_identifier(fields, "name"));
  if (find_named(operation.tensors, tensor.name) != nullptr)
    return fields.error("name", fmt::format("is '{}', which names another tensor", tensor.name));
  FATUNE_TRY(tensor.type, fields.text_or("type", "io"));
  if (tensor.type != "io" && tensor.type != "f32" && !parse_dtype(tensor.type)) {
    return fields.error("type",
                        fmt::format("is '{}', which is not one of io, f32, f16, bf16, e4m3, "
                                    "e5m2",
                                    tensor.type));
  }
  FATUNE_TRY(tensor.shape, fields.texts_or("shape", {}));
  if (tensor.shape.empty() || tensor.shape.size() > kMostDimensions) {
    return fields.error("shape",
                        fmt::format("must be a list of 1 to {} expressions", kMostDimensions));
  }
  const std::vector<std::string> known = problem_names(operation);
  for (std::size_t i = 0; i < tensor.shape.size(); ++i) {
    const std::string where = place(fields, fmt::format("shape[{}]", i));
    FATUNE_TRY_STATUS(check_expression(tensor.shape[i], where, known));
  }
  FATUNE_TRY(tensor.output, fields.boolean_or("output", false));
  if (!tensor.output) {
    FATUNE_TRY(tensor.fill, parse_fill(fields));
    return tensor;
  }
  for (const char* key : {"fill", "scale", "offset", "value"}) {
    if (fields.has(key)) return fields.error(key, "is for inputs; an output is poisoned");
  }
  return tensor;
}

Status parse_tensors(const Fields& fields, DeclaredOperation& operation) {
  FATUNE_TRY(const auto list, fields.objects_or_empty("tensors"));
  for (const Fields& item : list) {
    FATUNE_TRY(operation.tensors.emplace_back(), parse_tensor(item, operation));
  }
  const auto outputs = std::ranges::count(operation.tensors, true, &TensorSpec::output);
  if (outputs == 0)
    return fields.error("tensors",
                        "must have at least one with \"output\": true, or nothing is computed");
  if (outputs == static_cast<std::ptrdiff_t>(operation.tensors.size()))
    return fields.error("tensors", "must have at least one input");
  return {};
}

/// Reads a list of problems, each with every size.
Status parse_problems(const Fields& fields, std::string_view key,
                      const DeclaredOperation& operation,
                      std::vector<std::vector<NamedSize>>& problems) {
  FATUNE_TRY(const std::vector<Fields> list, fields.objects_or_empty(key));
  for (const Fields& item : list) {
    FATUNE_TRY(const auto sizes, sizes_from_json(item.json(), item.where()));
    for (const Dtype dtype : {Dtype::kF16, Dtype::kBf16, Dtype::kE4m3, Dtype::kE5m2}) {
      const auto problem = operation.problem(sizes, dtype);
      if (!problem) return file_error(item.where() + " is wrong: " + problem.error().message);
      if (dtype == Dtype::kF16) problems.push_back(problem->custom->sizes);
    }
  }
  return {};
}

Status parse_tolerance(const Fields& fields, DeclaredOperation& operation) {
  if (!fields.has("tolerance")) return {};
  FATUNE_TRY(const Fields object, fields.object("tolerance"));
  FATUNE_TRY_STATUS(object.only({"absolute", "relative", "why"}));
  DeclaredTolerance tolerance;
  FATUNE_TRY(tolerance.absolute, object.number_or("absolute", 0));
  FATUNE_TRY(tolerance.relative, object.number_or("relative", 0));
  for (const auto& [key, value] :
       {std::pair("absolute", tolerance.absolute), std::pair("relative", tolerance.relative)}) {
    if (!(value >= 0)) return object.error(key, "must be at least 0");
  }
  if (tolerance.relative >= 0.25)
    return object.error("relative", "must be below 0.25, or outputs of zero come near to passing");
  if (tolerance.absolute == 0 && tolerance.relative == 0)
    return fields.error("tolerance", "must have an 'absolute' or a 'relative' above 0");
  FATUNE_TRY(tolerance.why, parse_words(object, "why"));
  operation.tolerance = std::move(tolerance);
  return {};
}

Status parse_least(const Fields& fields, DeclaredOperation& operation) {
  if (!fields.has("least")) return {};
  FATUNE_TRY(const Fields least, fields.object("least"));
  FATUNE_TRY_STATUS(least.only({"flops", "bytes_read", "bytes_written"}));
  const std::vector<std::string> known = problem_names(operation);
  for (const auto& [key, text] :
       {std::pair("flops", &operation.flops), std::pair("bytes_read", &operation.bytes_read),
        std::pair("bytes_written", &operation.bytes_written)}) {
    if (!least.has(key)) continue;
    FATUNE_TRY(*text, least.text(key));
    FATUNE_TRY_STATUS(check_expression(*text, place(least, key), known));
  }
  return {};
}

Status parse_hard_inputs(const Fields& fields, DeclaredOperation& operation) {
  FATUNE_TRY(operation.hard_inputs, fields.texts_or("hard_inputs", {}));
  for (std::size_t i = 0; i < operation.hard_inputs.size(); ++i) {
    const std::string& word = operation.hard_inputs[i];
    if (std::ranges::count(kHardInputs, word) > 0) continue;
    return fields.error(
        fmt::format("hard_inputs[{}]", i),
        fmt::format("is '{}', which is not one of {}", word, join(kHardInputs, ", ")));
  }
  return {};
}

/// A reference declares its operation; other kernels name the operation that they compute.
Status check_role(const Fields& root, bool declares, const Manifest& manifest) {
  if (declares && manifest.role != Role::kReference) {
    return root.error("role",
                      "must be 'reference': the kernel that declares an operation is what "
                      "others are compared with");
  }
  if (!declares && manifest.role == Role::kReference) {
    return root.error("operation",
                      "must be an object that declares the operation, as this is its reference");
  }
  if (manifest.role == Role::kFault)
    return root.error("role", "is 'fault', which is for fixtures of attention");
  if (manifest.role == Role::kAttention && root.has("role"))
    return root.error("role", "is 'attention', but 'operation' says otherwise; leave it out");
  return {};
}

Result<OperationRef> find_operation(const Fields& root, const std::string& name,
                                    std::span<const OperationRef> operations) {
  std::vector<std::string> known;
  for (const OperationRef& each : operations) {
    if (each->name == name) return each;
    known.push_back(each->name);
  }
  return root.error("operation",
                    fmt::format("is '{}', which no manifest of role 'reference' in this folder "
                                "declares{}",
                                name, nearest_hint(name, known, "; did you mean '{}'?")));
}

}  // namespace

Result<DeclaredOperation> parse_operation(const Fields& fields) {
  FATUNE_TRY_STATUS(fields.only({"name", "summary", "sizes", "tensors", "typical", "edges",
                                 "hard_inputs", "tolerance", "least"}));
  DeclaredOperation operation;
  operation.where = fields.where();
  operation.text = dump(fields.json());
  FATUNE_TRY(operation.name, parse_identifier(fields, "name"));
  if (operation.name == "attention")
    return fields.error("name", "is 'attention', which fatune defines itself");
  FATUNE_TRY(operation.summary, parse_words(fields, "summary"));
  FATUNE_TRY_STATUS(parse_size_specs(fields, operation));
  FATUNE_TRY_STATUS(parse_tensors(fields, operation));
  FATUNE_TRY_STATUS(parse_hard_inputs(fields, operation));
  FATUNE_TRY_STATUS(parse_tolerance(fields, operation));
  FATUNE_TRY_STATUS(parse_least(fields, operation));
  FATUNE_TRY_STATUS(parse_problems(fields, "typical", operation, operation.typical));
  if (operation.typical.empty())
    return fields.error("typical", "must have at least one: sizes that the operation is used with");
  FATUNE_TRY_STATUS(parse_problems(fields, "edges", operation, operation.edges));
  return operation;
}

Status parse_operation_field(const Fields& root, std::span<const OperationRef> operations,
                             Manifest& manifest) {
  if (!root.has("operation")) return {};
  FATUNE_TRY(const Json* value, root.value("operation"));
  FATUNE_TRY_STATUS(check_role(root, value->is_object(), manifest));
  if (!value->is_object()) {
    FATUNE_TRY(const std::string name, root.text("operation"));
    FATUNE_TRY(manifest.operation, find_operation(root, name, operations));
    return {};
  }
  FATUNE_TRY(const Fields fields, root.object("operation"));
  FATUNE_TRY(DeclaredOperation operation, parse_operation(fields));
  manifest.operation = std::make_shared<const DeclaredOperation>(std::move(operation));
  return {};
}

}  // namespace fatune
