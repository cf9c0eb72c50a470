// operation.cpp - an operation and sizes to a problem, its tensors and its work.
#include "model/kernel/operation.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "core/check.hpp"
#include "core/text.hpp"
#include "model/kernel/expression.hpp"
#include "model/kernel/limits.hpp"
#include "model/kernel/vocabulary.hpp"

namespace fatune {
namespace {

/// "x.json: field 'operation.least.flops'"
std::string place_in(const Operation& operation, const std::string& path) {
  return fmt::format("{}.{}'", operation.where.substr(0, operation.where.size() - 1), path);
}

std::string names_of(const Operation& operation) {
  std::vector<std::string> names;
  for (const SizeSpec& size : operation.sizes) names.push_back(size.name);
  return join(names, ", ");
}

const NamedSize* find_size(const std::vector<NamedSize>& sizes, const std::string& name) {
  const auto found = std::find_if(sizes.begin(), sizes.end(),
                                  [&](const NamedSize& size) { return size.name == name; });
  return found == sizes.end() ? nullptr : &*found;
}

/// The sizes in the declaration's order.
Result<std::vector<NamedSize>> in_order(const Operation& operation,
                                        const std::vector<NamedSize>& given) {
  std::vector<NamedSize> sizes;
  for (const SizeSpec& spec : operation.sizes) {
    const NamedSize* size = find_size(given, spec.name);
    if (size == nullptr) {
      return usage_error(fmt::format(
          "{} is missing: {} has the sizes {}{}", spec.name, operation.name, names_of(operation),
          operation.typical.empty() ? "" : "; for example " + example_sizes(operation)));
    }
    sizes.push_back(*size);
  }
  for (const NamedSize& size : given) {
    if (find_size(sizes, size.name) != nullptr) continue;
    return usage_error(fmt::format("{} is no size of {}, which has {}", size.name, operation.name,
                                   names_of(operation)));
  }
  return sizes;
}

Result<std::int64_t> amount(const std::string& text, const std::string& where, const Scope& scope) {
  FATUNE_TRY(const Expression expression, Expression::parse(text, where));
  return expression.count(scope);
}

std::optional<Dtype> type_of(const TensorSpec& spec, Dtype io) {
  if (spec.type == "f32") return std::nullopt;
  const auto type = parse_dtype(spec.type);
  return type ? *type : io;  // the reader accepts no other word
}

Result<TensorPlan> plan_tensor(const Operation& operation, std::size_t index, const Scope& scope,
                               Dtype io) {
  const TensorSpec& spec = operation.tensors[index];
  TensorPlan tensor{spec.name, type_of(spec, io), {}, spec.output, spec.fill};
  std::int64_t bytes = static_cast<std::int64_t>(tensor.width());
  for (std::size_t i = 0; i < spec.shape.size(); ++i) {
    const std::string where = place_in(operation, fmt::format("tensors[{}].shape[{}]", index, i));
    FATUNE_TRY(const std::int64_t size, amount(spec.shape[i], where, scope));
    if (size < 1) {
      return usage_error(
          fmt::format("{}: '{}' is 0, but must be at least 1", where, spec.shape[i]));
    }
    if (bytes > kLargestTensor / size)
      return usage_error(fmt::format("{} would be larger than 1 TiB", spec.name));
    bytes *= size;
    tensor.shape.push_back(size);
  }
  return tensor;
}

Result<std::vector<TensorPlan>> plan_tensors(const Operation& operation, const Problem& problem) {
  const Scope scope = fixed_scope(problem, DeviceLimits{});
  std::vector<TensorPlan> tensors;
  for (std::size_t i = 0; i < operation.tensors.size(); ++i) {
    FATUNE_TRY(TensorPlan tensor, plan_tensor(operation, i, scope, problem.dtype));
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

/// What the declaration says of the least work, or else the tensors.
Status fill_work(const Operation& operation, Problem& problem) {
  FATUNE_TRY(const auto tensors, plan_tensors(operation, problem));
  OwnProblem& own = *problem.own;
  for (const TensorPlan& tensor : tensors) {
    (tensor.output ? own.bytes_written : own.bytes_read) +=
        static_cast<std::int64_t>(tensor.bytes());
  }
  const Scope scope = fixed_scope(problem, DeviceLimits{});
  const std::tuple<const std::string*, const char*, std::int64_t*> declared[] = {
      {&operation.flops, "flops", &own.flops},
      {&operation.bytes_read, "bytes_read", &own.bytes_read},
      {&operation.bytes_written, "bytes_written", &own.bytes_written}};
  for (const auto& [text, field, value] : declared) {
    if (text->empty()) continue;
    FATUNE_TRY(*value, amount(*text, place_in(operation, fmt::format("least.{}", field)), scope));
  }
  return {};
}

}  // namespace

Result<Problem> own_problem(const Operation& operation, const std::vector<NamedSize>& sizes,
                            Dtype dtype) {
  Problem problem;
  problem.dtype = dtype;
  OwnProblem own;
  own.operation = operation.name;
  FATUNE_TRY(own.sizes, in_order(operation, sizes));
  problem.own = std::move(own);
  FATUNE_TRY_STATUS(fill_work(operation, problem));
  return problem;
}

Problem smallest_problem(const Operation& operation) {
  Problem problem;
  problem.own.emplace().operation = operation.name;
  for (const SizeSpec& size : operation.sizes) problem.own->sizes.push_back({size.name, 1});
  return problem;
}

std::vector<Problem> typical_problems(const Operation& operation, Dtype dtype) {
  std::vector<Problem> problems;
  for (const std::vector<NamedSize>& sizes : operation.typical) {
    auto problem = own_problem(operation, sizes, dtype);
    FATUNE_CHECK(static_cast<bool>(problem), "the declaration's reader made a problem of them");
    problems.push_back(*std::move(problem));
  }
  return problems;
}

Result<OwnPlan> own_plan(const Operation& operation, const Problem& problem) {
  OwnPlan plan;
  FATUNE_TRY(plan.tensors, plan_tensors(operation, problem));
  plan.tolerance = operation.tolerance;
  return plan;
}

std::string_view operation_name(const OperationRef& operation) {
  return operation ? std::string_view(operation->name) : "attention";
}

std::string_view operation_name(const Problem& problem) {
  return problem.own ? std::string_view(problem.own->operation) : "attention";
}

std::string example_sizes(const Operation& operation) {
  return "--size " + describe(operation.typical.front());
}

}  // namespace fatune
