// operation.cpp: Makes problems, tensors, work, edge problems and inputs of a declared operation.
#include "model/kernel/operation.hpp"

#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "core/text.hpp"
#include "model/kernel/expression.hpp"
#include "model/kernel/limits.hpp"
#include "model/kernel/vocabulary.hpp"
#include "model/problem/data_file.hpp"

namespace fatune {
namespace {

constexpr std::uint64_t kSecondSeed = 1;  // added to the plan's seed

/// "x.json: field 'operation.least.flops'"
std::string place_in(const DeclaredOperation& operation, const std::string& path) {
  return fmt::format("{}.{}'", operation.where.substr(0, operation.where.size() - 1), path);
}

/// Returns the sizes in the declaration's order.
Result<std::vector<NamedSize>> in_order(const DeclaredOperation& operation,
                                        const std::vector<NamedSize>& given) {
  std::vector<NamedSize> sizes;
  for (const SizeSpec& spec : operation.sizes) {
    const NamedSize* size = find_named(given, spec.name);
    if (size == nullptr) {
      return usage_error(
          fmt::format("{} is missing: {} has the sizes {}{}", spec.name, operation.name,
                      join(names_of(operation.sizes), ", "),
                      operation.typical.empty() ? "" : "; for example " + operation.example()));
    }
    if (!spec.runtime && size->value > kLargestSize) {
      return usage_error(fmt::format(
          "{} is {}, but a size without \"runtime\" is at most {}: templates count in 32 bits",
          spec.name, size->value, kLargestSize));
    }
    sizes.push_back(*size);
  }
  for (const NamedSize& size : given) {
    if (find_named(sizes, size.name) != nullptr) continue;
    return usage_error(fmt::format("{} is no size of {}, which has {}", size.name, operation.name,
                                   join(names_of(operation.sizes), ", ")));
  }
  return sizes;
}

Result<std::int64_t> amount(const std::string& text, const std::string& where, const Scope& scope) {
  FATUNE_TRY(const Expression expression, Expression::parse(text, where));
  return expression.count(scope);
}

/// Sets the tensor's type from a word that the manifest's reader has accepted.
void set_type(const TensorSpec& spec, Dtype io, TensorPlan& tensor) {
  if (const auto plain = plain_type_named(spec.type)) {
    tensor.plain = *plain;
  } else {
    tensor.type = spec.type == "io" ? io : *parse_dtype(spec.type);
  }
}

Result<TensorPlan> plan_tensor(const DeclaredOperation& operation, std::size_t index,
                               const Scope& scope, Dtype io) {
  const TensorSpec& spec = operation.tensors[index];
  TensorPlan tensor{spec.name, std::nullopt, {}, spec.output, fill_of(spec)};
  tensor.filled = spec.output && spec.fill;
  set_type(spec, io, tensor);
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

Result<std::vector<TensorPlan>> plan_tensors(const DeclaredOperation& operation,
                                             const Problem& problem) {
  const Scope scope = fixed_scope(problem, DeviceLimits{});
  std::vector<TensorPlan> tensors;
  for (std::size_t i = 0; i < operation.tensors.size(); ++i) {
    FATUNE_TRY(tensors.emplace_back(), plan_tensor(operation, i, scope, problem.dtype()));
  }
  return tensors;
}

/// Names the data files, and holds them against their tensors.
Status find_data(const DeclaredOperation& operation, std::vector<TensorPlan>& tensors) {
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const TensorSpec& spec = operation.tensors[i];
    if (spec.file.empty()) continue;
    const std::string where = place_in(operation, fmt::format("tensors[{}].file", i));
    if (operation.folder.empty()) return usage_error(where + " needs a folder of kernels");
    tensors[i].fill.file = (operation.folder / spec.file).string();
    const auto found = data_offset(tensors[i].fill.file, tensors[i]);
    if (!found) return file_error(where + ": " + found.error().message);
  }
  return {};
}

/// Sets the declared least work, or the bytes of the tensors.
Status fill_work(const DeclaredOperation& operation, Problem& problem) {
  FATUNE_TRY(const auto tensors, plan_tensors(operation, problem));
  CustomProblem& custom = problem.as_custom();
  for (const TensorPlan& tensor : tensors) {
    const auto bytes = static_cast<std::int64_t>(tensor.bytes());
    if (tensor.output) custom.bytes_written += bytes;
    if (!tensor.output || tensor.filled) custom.bytes_read += bytes;
  }
  const Scope scope = fixed_scope(problem, DeviceLimits{});
  const std::tuple<const std::string*, const char*, std::int64_t*> declared[] = {
      {&operation.flops, "flops", &custom.flops},
      {&operation.bytes_read, "bytes_read", &custom.bytes_read},
      {&operation.bytes_written, "bytes_written", &custom.bytes_written}};
  for (const auto& [text, field, value] : declared) {
    if (text->empty()) continue;
    FATUNE_TRY(*value, amount(*text, place_in(operation, fmt::format("least.{}", field)), scope));
  }
  return {};
}

}  // namespace

std::vector<InputCase> search_cases(const Problem& problem, std::uint64_t seed) {
  std::vector<InputCase> cases = {{Distribution::kNormal, seed},
                                  {Distribution::kNormal, seed + kSecondSeed}};
  // Short accumulation of fp8 products on tensor cores loses accuracy that shows if all of v has
  // one sign.
  if (problem.is(is_fp8)) cases.push_back({Distribution::kOnesV, seed});
  if (!problem.is(is_fused)) return cases;
  cases.push_back({Distribution::kZeros, seed});
  cases.push_back({Distribution::kNotFinite, seed});
  return cases;
}

Result<Problem> DeclaredOperation::problem(const std::vector<NamedSize>& given, Dtype dtype) const {
  FATUNE_TRY(std::vector<NamedSize> ordered, in_order(*this, given));
  const auto io = typed ? std::optional(dtype) : std::nullopt;
  Problem problem = CustomProblem{io, name, std::move(ordered)};
  FATUNE_TRY_STATUS(fill_work(*this, problem));
  return problem;
}

Problem DeclaredOperation::smallest_problem() const {
  CustomProblem problem{.operation = name};
  for (const SizeSpec& size : sizes) problem.sizes.push_back({size.name, 1});
  return problem;
}

std::vector<Problem> DeclaredOperation::typical_problems(Dtype dtype) const {
  std::vector<Problem> problems;
  for (const std::vector<NamedSize>& each : typical) {
    auto made = problem(each, dtype);
    FATUNE_CHECK(static_cast<bool>(made), "the declaration's reader made a problem of them");
    problems.push_back(*std::move(made));
  }
  return problems;
}

Result<OperationPlan> DeclaredOperation::plan(const Problem& problem) const {
  OperationPlan made;
  FATUNE_TRY(made.tensors, plan_tensors(*this, problem));
  FATUNE_TRY_STATUS(find_data(*this, made.tensors));
  made.tolerance = tolerance;
  return made;
}

Status DeclaredOperation::check_data(const Problem& problem) const {
  FATUNE_TRY(std::vector<EdgeProblem> problems, edge_problems(problem, 0));
  problems.insert(problems.begin(), {problem, {}});
  for (const EdgeProblem& each : problems) {
    const auto planned = plan(each.problem);
    if (!planned) return file_error(planned.error().message + " (" + describe(each.problem) + ")");
  }
  return {};
}

std::vector<std::string> DeclaredOperation::tensor_names() const { return names_of(tensors); }

std::vector<InputCase> DeclaredOperation::hard_cases(const Problem&, std::uint64_t seed) const {
  std::vector<InputCase> cases;
  for (const std::string& word : hard_inputs) {
    const auto distribution = parse_distribution(word);
    FATUNE_CHECK(static_cast<bool>(distribution), "the declaration's reader knows the words");
    cases.push_back({*distribution, seed});
  }
  return cases;
}

Result<std::vector<EdgeProblem>> DeclaredOperation::edge_problems(const Problem& like,
                                                                  std::uint64_t seed) const {
  std::vector<EdgeProblem> problems;
  for (const std::vector<NamedSize>& each : edges) {
    FATUNE_TRY(Problem edge, problem(each, like.dtype()));
    problems.push_back({std::move(edge), {{Distribution::kNormal, seed}}});
  }
  if (problems.empty()) return problems;
  const std::vector<InputCase> hard = hard_cases(like, seed);
  std::vector<InputCase>& cases = problems.back().cases;
  cases.insert(cases.end(), hard.begin(), hard.end());
  return problems;
}

std::string DeclaredOperation::example() const { return "--size " + describe(typical.front()); }

}  // namespace fatune
