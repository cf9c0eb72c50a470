// tensor.cpp - tensors of a custom operation to sizes, places, JSON and back.
#include "model/problem/tensor.hpp"

#include <array>
#include <utility>

#include <nlohmann/json.hpp>

#include "core/text.hpp"

namespace fatune {
namespace {

constexpr std::string_view kSingle = "f32";
constexpr std::array<std::pair<Fill::Kind, std::string_view>, 3> kKinds = {
    {{Fill::Kind::kNormal, "normal"},
     {Fill::Kind::kUniform, "uniform"},
     {Fill::Kind::kConstant, "constant"}}};

std::vector<TensorPlan> select(const std::vector<TensorPlan>& tensors, bool outputs) {
  std::vector<TensorPlan> chosen;
  for (const TensorPlan& tensor : tensors) {
    if (tensor.output == outputs) chosen.push_back(tensor);
  }
  return chosen;
}

Json to_json(const Fill& fill) {
  Json object = {{"scale", fill.scale}, {"offset", fill.offset}};
  for (const auto& [kind, text] : kKinds) {
    if (kind == fill.kind) object["kind"] = text;
  }
  return object;
}

Result<Fill> fill_from_json(const Fields& fields) {
  Fill fill;
  FATUNE_TRY(fill.scale, fields.number("scale"));
  FATUNE_TRY(fill.offset, fields.number("offset"));
  FATUNE_TRY(const std::string word, fields.text("kind"));
  for (const auto& [kind, text] : kKinds) {
    if (text != word) continue;
    fill.kind = kind;
    return fill;
  }
  return fields.error("kind", "is unknown: '" + word + "'");
}

Result<TensorPlan> tensor_from_json(const Fields& fields) {
  TensorPlan tensor;
  FATUNE_TRY(tensor.name, fields.text("name"));
  FATUNE_TRY(const std::string type, fields.text("type"));
  if (type != kSingle) {
    FATUNE_TRY(tensor.type, parse_dtype(type));
  }
  FATUNE_TRY(tensor.output, fields.boolean_or("output", false));
  FATUNE_TRY(const Json* shape, fields.value("shape"));
  if (!shape->is_array() || shape->empty()) return fields.error("shape", "must be a list of sizes");
  for (const Json& size : *shape) {
    if (!size.is_number_integer() || size.get<std::int64_t>() < 1)
      return fields.error("shape", "must be a list of sizes of at least 1");
    tensor.shape.push_back(size.get<std::int64_t>());
  }
  FATUNE_TRY(const Fields fill, fields.object("fill"));
  FATUNE_TRY(tensor.fill, fill_from_json(fill));
  return tensor;
}

}  // namespace

std::int64_t TensorPlan::elements() const {
  std::int64_t product = 1;
  for (const std::int64_t size : shape) product *= size;
  return product;
}

std::size_t TensorPlan::width() const {
  return type ? static_cast<std::size_t>(size_of(*type)) : sizeof(float);
}

std::string describe_place(const TensorPlan& tensor, std::int64_t element) {
  std::vector<std::string> positions(tensor.shape.size());
  for (std::size_t i = tensor.shape.size(); i-- > 0;) {
    positions[i] = std::to_string(element % tensor.shape[i]);
    element /= tensor.shape[i];
  }
  return tensor.name + "[" + join(positions, ", ") + "]";
}

std::vector<TensorPlan> OwnPlan::inputs() const { return select(tensors, false); }
std::vector<TensorPlan> OwnPlan::outputs() const { return select(tensors, true); }

Json to_json(const OwnPlan& plan) {
  Json tensors = Json::array();
  for (const TensorPlan& tensor : plan.tensors) {
    tensors.push_back({{"name", tensor.name},
                       {"type", tensor.type ? name(*tensor.type) : kSingle},
                       {"shape", tensor.shape},
                       {"output", tensor.output},
                       {"fill", to_json(tensor.fill)}});
  }
  Json object = {{"tensors", std::move(tensors)}};
  if (plan.tolerance) {
    object["tolerance"] = {{"absolute", plan.tolerance->absolute},
                           {"relative", plan.tolerance->relative},
                           {"why", plan.tolerance->why}};
  }
  return object;
}

Result<OwnPlan> own_plan_from_json(const Json& object, const std::string& where) {
  const Fields fields(object, where);
  OwnPlan plan;
  FATUNE_TRY(const auto tensors, fields.objects_or_empty("tensors"));
  for (const Fields& each : tensors) {
    FATUNE_TRY(TensorPlan tensor, tensor_from_json(each));
    plan.tensors.push_back(std::move(tensor));
  }
  if (!fields.has("tolerance")) return plan;
  FATUNE_TRY(const Fields tolerance, fields.object("tolerance"));
  DeclaredTolerance declared;
  FATUNE_TRY(declared.absolute, tolerance.number("absolute"));
  FATUNE_TRY(declared.relative, tolerance.number("relative"));
  FATUNE_TRY(declared.why, tolerance.text("why"));
  plan.tolerance = std::move(declared);
  return plan;
}

}  // namespace fatune
