// named_tensor.cpp: Parses, prints, checks and resizes tensors that expressions read by name.
#include "model/problem/named_tensor.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "core/fields.hpp"
#include "core/text.hpp"
#include "model/problem/problem.hpp"
#include "model/problem/rule.hpp"
#include "model/problem/tensor.hpp"

namespace fatune {
namespace {

constexpr std::string_view kArgumentPrefix = "tensor_";
constexpr std::size_t kLongestName = 64;                       // chosen
constexpr std::size_t kMostSizes = 3;                          // chosen
constexpr std::size_t kMostRuns = 4096;                        // chosen: records repeat the text
constexpr std::int64_t kMostElements = std::int64_t{1} << 24;  // chosen
constexpr std::array<std::string_view, 2> kTensorTypes = {"i32", "f32"};
constexpr std::string_view kTensorForm =
    "NAME=TYPE[SIZE]:VALUES, such as doc=i32[4096]:0*700,1*3396";

/// Returns why a tensor may not have the name; empty if it may.
std::string tensor_name_fault(std::string_view name) {
  if (!matches(name, "[A-Za-z_][A-Za-z0-9_]*") || name.size() > kLongestName)
    return fmt::format("has '{}' for a name; up to {} letters, digits and _ make one",
                       excerpt(name), kLongestName);
  if (is_rule_name(name))
    return fmt::format("has '{}' for a name, which expressions reserve", name);
  if (name.starts_with("padding") || name.starts_with("document"))
    return fmt::format("has '{}' for a name, which begins like a mask's lengths", name);
  return {};
}

Error refused(std::string_view text, const std::string& why) {
  return usage_error(fmt::format("tensor '{}' {}", excerpt(trim(text)), why));
}

/// Parses "i32[16][1023]".
Status parse_type(std::string_view text, NamedTensor& tensor) {
  const std::size_t bracket = text.find('[');
  const auto type = std::ranges::find(kTensorTypes, trim(text.substr(0, bracket)));
  if (bracket == std::string_view::npos || type == kTensorTypes.end() || text.back() != ']')
    return usage_error(fmt::format("has the type '{}', not i32[SIZE] or f32[SIZE]", excerpt(text)));
  tensor.type = static_cast<NamedTensor::Type>(type - kTensorTypes.begin());
  std::string sizes(text.substr(bracket + 1, text.size() - bracket - 2));
  for (std::size_t at; (at = sizes.find("][")) != std::string::npos;) sizes.replace(at, 2, ",");
  for (const std::string& part : split(sizes, ',')) {
    const auto size = parse_integer(trim(part));
    if (!size || *size < 1 || *size > kMostElements)
      return usage_error(fmt::format("has the size '{}', not a whole number from 1 to {}",
                                     excerpt(trim(part)), kMostElements));
    tensor.shape.push_back(*size);
  }
  if (tensor.shape.size() > kMostSizes)
    return usage_error(
        fmt::format("has {} sizes, but at most {}", tensor.shape.size(), kMostSizes));
  // Sizes are below 2^25, and their product is below 2^75.
  double elements = 1;
  for (const std::int64_t size : tensor.shape) elements *= static_cast<double>(size);
  if (elements <= static_cast<double>(kMostElements)) return {};
  return usage_error(fmt::format("has more than {} elements", kMostElements));
}

/// Parses "0*700": a value, and how often it is repeated.
Status parse_run(std::string_view text, NamedTensor& tensor) {
  const std::size_t star = text.find('*');
  const std::string_view digits = trim(text.substr(0, star));
  const bool whole = tensor.type == NamedTensor::Type::kI32;
  const auto value = parse_number(digits);
  if (!value || !std::isfinite(static_cast<float>(*value)) ||
      (whole && (!parse_integer(digits) || std::abs(*value) > static_cast<double>(kMostWhole))))
    return usage_error(fmt::format("has the value '{}', not {}", excerpt(digits),
                                   whole
                                       ? fmt::format("a whole number from -{0} to {0}", kMostWhole)
                                       : "a finite fp32 number"));
  const auto count = star == std::string_view::npos ? std::optional<std::int64_t>(1)
                                                    : parse_integer(trim(text.substr(star + 1)));
  if (!count || *count < 1 || *count > kMostElements)
    return usage_error(fmt::format("repeats a value '{}' times, not a whole number of times",
                                   excerpt(trim(text.substr(star + 1)))));
  tensor.append(whole ? *value : static_cast<double>(static_cast<float>(*value)), *count);
  return {};
}

Status parse_values(std::string_view text, NamedTensor& tensor) {
  for (const std::string& part : split(text, ',')) FATUNE_TRY_STATUS(parse_run(trim(part), tensor));
  if (tensor.runs.size() > kMostRuns)
    return usage_error(fmt::format("has {} values that differ from the one before, but at most {}",
                                   tensor.runs.size(), kMostRuns));
  if (tensor.runs.back().end == tensor.elements()) return {};
  return usage_error(
      fmt::format("has {} values, but {} elements", tensor.runs.back().end, tensor.elements()));
}

/// Returns the largest size in `to` whose counterpart in `from` is `size`; without one, `size`.
std::int64_t size_like(std::int64_t size, const Attention& from, const Attention& to) {
  std::int64_t made = 0;
  for (const auto member : {&Attention::batch, &Attention::heads, &Attention::kv_heads,
                            &Attention::seq_q, &Attention::seq_kv})
    if (from.*member == size) made = std::max(made, to.*member);
  return made == 0 ? size : made;
}

bool reads_tensor(const Attention& problem, std::string_view name) {
  const auto reads = [&](const std::string& text, RuleKind kind) {
    return !text.empty() && PairRule::of(text, kind).reads(name);
  };
  return reads(problem.mask.rule, RuleKind::kMask) || reads(problem.score, RuleKind::kScore);
}

}  // namespace

std::int64_t NamedTensor::elements() const {
  std::int64_t product = 1;
  for (const std::int64_t size : shape) product *= size;
  return product;
}

double NamedTensor::at(std::int64_t element) const {
  return std::ranges::upper_bound(runs, element, {}, &Run::end)->value;
}

NamedTensor::Values NamedTensor::values(std::int64_t first, std::int64_t last) const {
  if (runs.empty()) return {-kMostWhole, kMostWhole};
  first = std::clamp<std::int64_t>(first, 0, elements() - 1);
  last = std::clamp<std::int64_t>(last, first, elements() - 1);
  auto run = std::ranges::upper_bound(runs, first, {}, &Run::end);
  double least = run->value, most = run->value;
  for (; run->end <= last; ++run) {
    least = std::min(least, std::next(run)->value);
    most = std::max(most, std::next(run)->value);
  }
  return {static_cast<std::int64_t>(least), static_cast<std::int64_t>(most)};
}

void NamedTensor::append(double value, std::int64_t count) {
  const std::int64_t begin = runs.empty() ? 0 : runs.back().end;
  if (runs.empty() || runs.back().value != value) runs.push_back({value, begin});
  runs.back().end = begin + count;
}

std::string declaration_of(const NamedTensor& tensor) {
  std::string text =
      fmt::format("{}={}", tensor.name, kTensorTypes.at(static_cast<std::size_t>(tensor.type)));
  for (const std::int64_t size : tensor.shape) text += fmt::format("[{}]", size);
  return text;
}

std::string name(const NamedTensor& tensor) {
  std::string text = declaration_of(tensor);
  std::int64_t begin = 0;
  for (const NamedTensor::Run& run : tensor.runs) {
    text += begin == 0 ? ":" : ",";
    // A float prints its shortest spelling.
    text += tensor.type == NamedTensor::Type::kI32
                ? fmt::format("{}", static_cast<std::int64_t>(run.value))
                : fmt::format("{}", static_cast<float>(run.value));
    if (run.end - begin > 1) text += fmt::format("*{}", run.end - begin);
    begin = run.end;
  }
  return text;
}

Result<NamedTensor> parse_declaration(std::string_view text) {
  text = trim(text);
  const std::size_t equals = text.find('='), colon = text.find(':');
  if (equals == std::string_view::npos || colon < equals)
    return refused(text, fmt::format("is not of the form {}", kTensorForm));
  NamedTensor tensor{.name = std::string(trim(text.substr(0, equals)))};
  if (const std::string fault = tensor_name_fault(tensor.name); !fault.empty())
    return refused(text, fault);
  const std::string_view type = trim(text.substr(equals + 1, colon - equals - 1));
  if (const Status parsed = parse_type(type, tensor); !parsed)
    return refused(text, parsed.error().message);
  return tensor;
}

Result<NamedTensor> parse_named_tensor(std::string_view text) {
  FATUNE_TRY(NamedTensor tensor, parse_declaration(text));
  const std::size_t colon = text.find(':');
  const bool has_values = colon != std::string_view::npos;
  if (!has_values && tensor.type == NamedTensor::Type::kI32)
    return refused(text,
                   fmt::format("has no values; give i32 some, such as :0*{}", tensor.elements()));
  const Status parsed = has_values ? parse_values(text.substr(colon + 1), tensor) : Status();
  if (!parsed) return refused(text, parsed.error().message);
  return tensor;
}

FieldWord<NamedTensor> word_of(const NamedTensor*) {
  return {parse_named_tensor,
          {},
          "^[A-Za-z_][A-Za-z0-9_]*=(i32(\\[[0-9]+\\])+:.+|f32(\\[[0-9]+\\])+(:.+)?)$"};
}

std::string argument_of(const NamedTensor& tensor) {
  return std::string(kArgumentPrefix) + tensor.name;
}

bool is_named_tensor(std::string_view argument) { return argument.starts_with(kArgumentPrefix); }

TensorPlan plan_of(const NamedTensor& tensor) {
  TensorPlan plan{argument_of(tensor), std::nullopt, tensor.shape};
  if (tensor.type == NamedTensor::Type::kI32) plan.plain = PlainType::kI32;
  return plan;
}

const NamedTensor* find_tensor(const Attention& problem, std::string_view name) {
  const auto found = std::ranges::find(problem.tensors, name, &NamedTensor::name);
  return found == problem.tensors.end() ? nullptr : &*found;
}

std::string named_tensors_fault(const Attention& problem) {
  if (problem.tensors.size() > kMostTensors)
    return fmt::format("tensors has {} tensors, but at most {}", problem.tensors.size(),
                       kMostTensors);
  for (const NamedTensor& each : problem.tensors) {
    if (find_tensor(problem, each.name) != &each)
      return fmt::format("tensors has '{}' twice", each.name);
    if (!reads_tensor(problem, each.name))
      return fmt::format("tensors has '{0}', which neither mask nor score reads as {0}[...]",
                         each.name);
  }
  return {};
}

NamedTensor resized(const NamedTensor& tensor, const Attention& from, const Attention& to) {
  NamedTensor made{tensor.name, tensor.type};
  double elements = 1;
  for (const std::int64_t size : tensor.shape) {
    made.shape.push_back(size_like(size, from, to));
    elements *= static_cast<double>(made.shape.back());
  }
  if (elements > static_cast<double>(kMostElements)) return tensor;
  const std::int64_t count = tensor.runs.empty() ? 0 : made.elements();
  for (std::int64_t i = 0; i < count && made.runs.size() <= kMostRuns; ++i) {
    std::int64_t source = 0, pitch = 1, rest = i;
    for (std::size_t axis = made.shape.size(); axis-- > 0; rest /= made.shape[axis]) {
      source += pitch * (rest % made.shape[axis] * tensor.shape[axis] / made.shape[axis]);
      pitch *= tensor.shape[axis];
    }
    made.append(tensor.at(source), 1);
  }
  return made.runs.size() <= kMostRuns ? made : tensor;
}

void drop_unread_tensors(Attention& problem) {
  std::erase_if(problem.tensors,
                [&](const NamedTensor& each) { return !reads_tensor(problem, each.name); });
}

}  // namespace fatune
