// tensor.cpp - tensors of a custom operation to sizes, places and fields.
#include "model/problem/tensor.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "core/fields.hpp"
#include "core/text.hpp"

namespace fatune {
namespace {

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

std::string_view name(Fill::Kind kind) {
  return std::find_if(kKinds.begin(), kKinds.end(),
                      [&](const auto& each) { return each.first == kind; })
      ->second;
}

static Result<Fill::Kind> parse_fill_kind(std::string_view text) {
  for (const auto& [kind, word] : kKinds) {
    if (word == text) return kind;
  }
  return usage_error("a fill of kind '" + std::string(text) + "' is unknown");
}

FieldWord<Fill::Kind> word_of(const Fill::Kind*) { return {.parse = parse_fill_kind}; }

void fields(Fill& x, FieldList& f) {
  f("scale", x.scale).required().finite();
  f("offset", x.offset).required().finite();
  f("kind", x.kind).required();
}

void fields(TensorPlan& x, FieldList& f) {
  f("name", x.name).required();
  f("type", x.type);
  f("shape", x.shape).required().filled().at_least(1);
  f("output", x.output);
  f("fill", x.fill).required();
}

void fields(DeclaredTolerance& x, FieldList& f) {
  f("absolute", x.absolute).required().finite();
  f("relative", x.relative).required().finite();
  f("why", x.why).required();
}

void fields(OwnPlan& x, FieldList& f) {
  f("tensors", x.tensors);
  f("tolerance", x.tolerance);
}

}  // namespace fatune
