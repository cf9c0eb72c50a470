// kernelbench.cpp - finds Model.forward() and get_inputs(), and puts their tensors together.
#include "model/interchange/kernelbench.hpp"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "model/interchange/reference.hpp"

namespace fatune {
namespace {

using StatementKind = PyStatement::Kind;

Error not_kernelbench(const std::string& where, std::string_view what) {
  return file_error(fmt::format("{}: has no {}: it is no problem of KernelBench", where, what));
}

bool calls_super(const PyStatement& each) {
  if (each.kind != StatementKind::kExpression) return false;
  const PyExpression* at = &each.value;
  while (!at->parts.empty()) at = &at->parts.front();
  return at->kind == PyExpression::Kind::kName && (at->text == "super" || at->text == "pass");
}

/// A constructor that does more makes weights, or keeps what forward() uses.
Status check_without_weights(const PyStatement& model, const std::string& where) {
  const PyStatement* made = find_block(model.body, StatementKind::kFunction, "__init__");
  if (made == nullptr) return {};
  for (const PyStatement& each : made->body) {
    const bool documents =
        each.kind == StatementKind::kExpression && each.value.kind == PyExpression::Kind::kText;
    if (documents || calls_super(each)) continue;
    return file_error(
        fmt::format("{}: line {}: Model keeps weights or settings: more than attention is computed",
                    where, each.line));
  }
  return {};
}

Result<Dtype> dtype_of(const std::vector<ReferenceArgument>& tensors, const std::string& wanted,
                       const std::string& where) {
  if (!wanted.empty()) {
    Result<Dtype> dtype = parse_dtype(wanted);
    return dtype ? dtype : usage_error("--dtype: " + dtype.error().message);
  }
  const std::string& told = tensors.front().dtype;
  const bool one = std::ranges::all_of(
      tensors, [&](const ReferenceArgument& each) { return each.dtype == told; });
  const Result<Dtype> dtype = dtype_of_torch(told);
  if (one && dtype) return dtype;
  return usage_error(fmt::format(
      "{}: its tensors are {}, which no kernel reads; say --dtype f16 or bf16, as KernelBench "
      "casts them to its precision",
      where, one ? told : "of several types"));
}

}  // namespace

Result<Suite> parse_kernelbench(std::string_view text, const std::string& dtype,
                                const std::string& where) {
  FATUNE_TRY(const std::vector<PyStatement> module, parse_python(text, where));
  const PyStatement* model = find_block(module, StatementKind::kClass, "Model");
  if (model == nullptr) return not_kernelbench(where, "class Model");
  const PyStatement* forward = find_block(model->body, StatementKind::kFunction, "forward");
  if (forward == nullptr || forward->names.empty())
    return not_kernelbench(where, "Model.forward()");
  const PyStatement* inputs = find_block(module, StatementKind::kFunction, "get_inputs");
  if (inputs == nullptr) return not_kernelbench(where, "get_inputs()");
  FATUNE_TRY_STATUS(check_without_weights(*model, where));
  FATUNE_TRY(std::vector<ReferenceArgument> tensors, made_by(*inputs, {}, module, where));
  if (tensors.empty()) return not_kernelbench(where, "tensors in get_inputs()");
  if (!std::ranges::all_of(tensors, &ReferenceArgument::tensor))
    return file_error(where + ": get_inputs() returns other things than tensors");
  PyStatement function = *forward;
  function.names.erase(function.names.begin());  // self
  NamedProblem named{std::filesystem::path(where).stem().string(), {}};
  FATUNE_TRY(named.problem, attention_of(function, tensors, module, where));
  FATUNE_TRY(named.problem.dtype, dtype_of(tensors, dtype, where));
  named.problem.out_dtype = default_out_dtype(named.problem.dtype);
  if (const Status valid = validate(named.problem); !valid)
    return file_error(where + ": " + valid.error().message);
  return Suite{named.name, "", {named}};
}

}  // namespace fatune
