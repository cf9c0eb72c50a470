// reference.cpp - what a function returns, as a problem; the tensors that another makes.
#include "model/interchange/reference.hpp"

#include <fmt/format.h>

#include "core/text.hpp"
#include "model/interchange/torch_reader.hpp"

namespace fatune {
namespace {

/// Of what is returned, alone or in a list of one.
Result<Layout> out_layout(const TorchValue& out, const TorchReader& reader) {
  if (out.order.back() + 1 != 4)
    return reader.wrong("the output's columns do not lie side by side");
  // The dimension `order[i]` of the output lies at place i; a layout wants the place of each.
  TorchValue place{.kind = TorchValue::Kind::kTensor, .order = DimensionOrder(4)};
  for (std::size_t i = 0; i < 4; ++i) place.order[out.order[i]] = i;
  return layout_of(place, out.shape);
}

TorchValue value_of(const ReferenceArgument& argument) {
  if (!argument.parts.empty()) {
    TorchValue tuple{.kind = TorchValue::Kind::kList};
    for (const ReferenceArgument& part : argument.parts) tuple.parts.push_back(value_of(part));
    return tuple;
  }
  if (!argument.tensor) return real_of(argument.number);
  TorchValue tensor{.kind = TorchValue::Kind::kTensor,
                    .shape = argument.shape,
                    .order = argument.order,
                    .dtype = argument.dtype,
                    .origin = argument.name};
  if (tensor.order.empty()) tensor.order = order_of(tensor.shape.size());
  return tensor;
}

}  // namespace

Result<Problem> attention_of(const PyStatement& function,
                             const std::vector<ReferenceArgument>& arguments,
                             const std::vector<PyStatement>& module, const std::string& where) {
  TorchReader reader(where);
  FATUNE_TRY_STATUS(reader.read_module(module));
  if (function.names.size() != arguments.size()) {
    return file_error(fmt::format("{}: {}() has {}, but {} given", where, function.text,
                                  counted(function.names.size(), "parameter"),
                                  arguments.size() == 1
                                      ? "one argument is"
                                      : fmt::format("{} arguments are", arguments.size())));
  }
  for (std::size_t i = 0; i < arguments.size(); ++i)
    reader.names[function.names[i]] = value_of(arguments[i]);
  FATUNE_TRY(TorchValue out, reader.run(function.body));
  if (out.kind == TorchValue::Kind::kList && out.parts.size() == 1)
    out = TorchValue(out.parts.front());
  if (out.kind != TorchValue::Kind::kAttention)
    return reader.wrong("what is returned is not attention's output alone");
  FATUNE_TRY(out.problem.layouts.out, out_layout(out, reader));
  if (const Status valid = validate(out.problem); !valid)
    return file_error(where + ": " + valid.error().message);
  return out.problem;
}

Result<std::vector<ReferenceArgument>> made_by(const PyStatement& function,
                                               const std::map<std::string, std::int64_t>& sizes,
                                               const std::vector<PyStatement>& module,
                                               const std::string& where) {
  TorchReader reader(where);
  FATUNE_TRY_STATUS(reader.read_module(module));
  for (const auto& [name, value] : sizes) reader.names[name] = whole_of(value);
  FATUNE_TRY(TorchValue out, reader.run(function.body));
  if (out.kind != TorchValue::Kind::kList)
    out = {.kind = TorchValue::Kind::kList, .parts = {TorchValue(out)}};
  std::vector<ReferenceArgument> made;
  for (const TorchValue& each : out.parts) {
    if (each.kind != TorchValue::Kind::kTensor && !each.is_number())
      return reader.wrong(function.text + "() returns other things than tensors and numbers");
    made.push_back({.name = fmt::format("argument {}", made.size() + 1),
                    .tensor = each.kind == TorchValue::Kind::kTensor,
                    .shape = each.shape,
                    .dtype = each.dtype,
                    .number = each.number(),
                    .order = each.order});
  }
  return made;
}

Result<std::int64_t> whole_value(const PyExpression& expression,
                                 const std::map<std::string, std::int64_t>& names,
                                 const std::string& where) {
  TorchReader reader(where);
  for (const auto& [name, value] : names) reader.names[name] = whole_of(value);
  FATUNE_TRY(const TorchValue value, reader.value_of(expression));
  if (value.kind == TorchValue::Kind::kWhole) return value.whole;
  return file_error(where + ": is not a whole number");
}

Result<Dtype> dtype_of_torch(std::string_view name) {
  for (const Dtype each : {Dtype::kF16, Dtype::kBf16, Dtype::kE4m3, Dtype::kE5m2}) {
    if (torch_name(each) == name) return each;
  }
  if (name == "half") return Dtype::kF16;
  return usage_error(fmt::format(
      "'{}' is none of the element types float16, bfloat16, float8_e4m3fn and float8_e5m2", name));
}

std::string_view torch_name(Dtype dtype) {
  switch (dtype) {
    case Dtype::kF16:
      return "float16";
    case Dtype::kBf16:
      return "bfloat16";
    case Dtype::kE4m3:
      return "float8_e4m3fn";
    case Dtype::kE5m2:
      return "float8_e5m2";
  }
  return "";
}

}  // namespace fatune
