// torch_reader.cpp - statements, names, numbers and calls.
#include "model/interchange/torch_reader.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "core/text.hpp"

namespace fatune {
namespace {

using TorchKind = TorchValue::Kind;

constexpr std::size_t kLongestList = 64;  ///< so that lists of lists stay small; chosen

std::optional<std::int64_t> computed(std::string_view operation, std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (operation == "+" && !__builtin_add_overflow(a, b, &result)) return result;
  if (operation == "-" && !__builtin_sub_overflow(a, b, &result)) return result;
  if (operation == "*" && !__builtin_mul_overflow(a, b, &result)) return result;
  if (operation == "**" && b >= 0 && b < 63) {
    result = 1;
    for (std::int64_t i = 0; i < b; ++i) {
      if (__builtin_mul_overflow(result, a, &result)) return std::nullopt;
    }
    return result;
  }
  if (a < 0 || b <= 0) return std::nullopt;
  if (operation == "//") return a / b;
  if (operation == "%") return a % b;
  if (operation == "/" && a % b == 0) return a / b;
  return std::nullopt;
}

std::optional<double> computed(std::string_view operation, double a, double b) {
  if (operation == "+") return a + b;
  if (operation == "-") return a - b;
  if (operation == "*") return a * b;
  if (operation == "/" && b != 0) return a / b;
  if (operation == "**") return std::pow(a, b);
  return std::nullopt;
}

/// "normal_" of "q.normal_()"; empty for what is no such call.
std::string_view method_of(const PyExpression& e) {
  const bool called =
      e.kind == PyExpression::Kind::kCall && e.parts[0].kind == PyExpression::Kind::kMember;
  return called ? std::string_view(e.parts[0].text) : "";
}

/// "torch.manual_seed(7)", and of a generator.
bool is_seed(const PyExpression& e) {
  return method_of(e) == "manual_seed" || method_of(e) == "manual_seed_all";
}

}  // namespace

Error TorchReader::wrong(const std::string& what) const {
  return file_error(fmt::format("{}: line {}: {}", where_, line_, what));
}

Status TorchReader::read_module(const std::vector<PyStatement>& module) {
  for (const PyStatement& each : module) {
    line_ = each.line;
    switch (each.kind) {
      case PyStatement::Kind::kImport:
        for (std::size_t i = 0; i < each.names.size(); ++i)
          names[each.names[i]] = path_of(each.paths[i]);
        break;
      case PyStatement::Kind::kAssign:
        FATUNE_TRY_STATUS(assign(each));
        break;
      case PyStatement::Kind::kFunction:
      case PyStatement::Kind::kClass:
        break;
      default:
        if (is_idle(each)) break;
        return wrong(fmt::format("'{}' is not understood", each.text));
    }
  }
  return {};
}

Result<TorchValue> TorchReader::run(const std::vector<PyStatement>& body) {
  FATUNE_TRY(std::optional<TorchValue> value, returned(body));
  return value ? Result<TorchValue>(*std::move(value)) : wrong("nothing is returned behind it");
}

Result<std::optional<TorchValue>> TorchReader::returned(const std::vector<PyStatement>& body) {
  for (const PyStatement& each : body) {
    line_ = each.line;
    if (each.kind == PyStatement::Kind::kReturn) {
      FATUNE_TRY(TorchValue value, value_of(each.value));
      return std::optional(std::move(value));
    }
    if (each.kind == PyStatement::Kind::kAssign) {
      FATUNE_TRY_STATUS(assign(each));
    } else if (each.kind == PyStatement::Kind::kWith) {
      FATUNE_TRY_STATUS(check_context(each.value));
      FATUNE_TRY(std::optional<TorchValue> value, returned(each.body));
      if (value) return value;
    } else if (each.kind == PyStatement::Kind::kImport) {
      FATUNE_TRY_STATUS(read_module({each}));
    } else if (each.kind == PyStatement::Kind::kExpression && is_fill(method_of(each.value))) {
      FATUNE_TRY(const TorchValue filled, value_of(each.value));
      if (!filled.is_made()) return wrong("an argument is changed");
    } else if (each.kind != PyStatement::Kind::kAssert && !is_idle(each)) {
      return wrong(fmt::format("'{}' is not understood", each.text));
    }
  }
  return std::optional<TorchValue>();
}

Status TorchReader::check_context(const PyExpression& context) {
  constexpr std::array<std::string_view, 4> kIdle = {"torch.no_grad", "torch.inference_mode",
                                                     "torch.nn.attention.sdpa_kernel",
                                                     "utils.DeterministicContext"};
  if (context.kind != PyExpression::Kind::kCall) return wrong("'with' is of no call");
  FATUNE_TRY(const TorchValue path, value_of(context.parts[0]));
  if (path.kind == TorchKind::kPath && std::ranges::count(kIdle, path.text) > 0) return {};
  return wrong(fmt::format("'with {}()' is not understood", path.text));
}

Result<TorchValue> TorchReader::value_of(const PyExpression& e) {
  switch (e.kind) {
    case PyExpression::Kind::kName:
      return named(e.text);
    case PyExpression::Kind::kWhole:
      return whole_of(e.whole);
    case PyExpression::Kind::kReal:
      return real_of(e.real);
    case PyExpression::Kind::kText:
      return TorchValue{.kind = TorchKind::kText, .text = e.text};
    case PyExpression::Kind::kList:
      return list(e);
    case PyExpression::Kind::kMember:
      return member(e);
    case PyExpression::Kind::kIndex:
      return index(e);
    case PyExpression::Kind::kCall:
      return call(e);
    case PyExpression::Kind::kNegative: {
      FATUNE_TRY(const TorchValue inner, value_of(e.parts[0]));
      if (inner.kind == TorchKind::kWhole && inner.whole > std::numeric_limits<std::int64_t>::min())
        return whole_of(-inner.whole);
      if (inner.kind == TorchKind::kReal) return real_of(-inner.real);
      return wrong("only numbers can be negated");
    }
    case PyExpression::Kind::kOperation:
      return operation(e);
  }
  return wrong("it is not understood");
}

bool TorchReader::is_idle(const PyStatement& each) {
  if (each.kind == PyStatement::Kind::kExpression)
    return each.value.kind == PyExpression::Kind::kText ||
           (each.value.kind == PyExpression::Kind::kName && each.value.text == "pass") ||
           is_seed(each.value);
  return each.text.starts_with("@ torch . no_grad") ||
         each.text.starts_with("@ torch . inference_mode");
}

Status TorchReader::assign(const PyStatement& each) {
  FATUNE_TRY(TorchValue value, value_of(each.value));
  if (each.names.size() == 1) {
    names[each.names.front()] = std::move(value);
    return {};
  }
  if (value.kind != TorchKind::kList || value.parts.size() != each.names.size())
    return wrong(fmt::format("it does not have {} values", each.names.size()));
  for (std::size_t i = 0; i < each.names.size(); ++i)
    names[each.names[i]] = std::move(value.parts[i]);
  return {};
}

Result<TorchValue> TorchReader::named(const std::string& name) const {
  if (const auto found = names.find(name); found != names.end()) return found->second;
  if (name == "None") return TorchValue{};
  if (name == "True" || name == "False")
    return TorchValue{.kind = TorchKind::kBoolean, .whole = name == "True" ? 1 : 0};
  if (name == "float" || name == "int") return path_of(name);
  return wrong(fmt::format("'{}' is not known here", name));
}

Result<TorchValue> TorchReader::list(const PyExpression& e) {
  TorchValue made{.kind = TorchKind::kList};
  if (e.parts.size() > kLongestList) return wrong("a list is too long");
  for (const PyExpression& part : e.parts) {
    FATUNE_TRY(TorchValue value, value_of(part));
    const auto is_list = [](const TorchValue& each) { return each.kind == TorchKind::kList; };
    if (std::ranges::any_of(value.parts, is_list)) return wrong("lists nest too deep");
    made.parts.push_back(std::move(value));
  }
  return made;
}

TorchValue TorchReader::shape_list(const TorchValue& tensor) {
  TorchValue made{.kind = TorchKind::kList};
  for (const std::int64_t size : tensor.shape) made.parts.push_back(whole_of(size));
  return made;
}

Result<TorchValue> TorchReader::member(const PyExpression& e) {
  FATUNE_TRY(const TorchValue owner, value_of(e.parts[0]));
  if (owner.kind == TorchKind::kPath) return path_of(owner.text + "." + e.text);
  if (owner.is_tensor() && e.text == "shape") return shape_list(owner);
  if (owner.is_tensor() && e.text == "dtype") return path_of("torch." + owner.dtype);
  if (owner.is_tensor() && e.text == "device") return TorchValue{.kind = TorchKind::kText};
  return wrong(fmt::format("'.{}' is not understood", e.text));
}

std::optional<std::size_t> TorchReader::dimension(const TorchValue& at, std::size_t count) {
  if (at.kind != TorchKind::kWhole) return std::nullopt;
  const auto many = static_cast<std::int64_t>(count);
  const std::int64_t place = at.whole < 0 ? at.whole + many : at.whole;
  if (place < 0 || place >= many) return std::nullopt;
  return static_cast<std::size_t>(place);
}

Result<TorchValue> TorchReader::index(const PyExpression& e) {
  FATUNE_TRY(const TorchValue owner, value_of(e.parts[0]));
  FATUNE_TRY(const TorchValue at, value_of(e.parts[1]));
  const auto place = dimension(at, owner.parts.size());
  if (owner.kind != TorchKind::kList || !place) return wrong("only sizes have an index");
  return owner.parts[*place];
}

Result<TorchValue> TorchReader::operation(const PyExpression& e) {
  FATUNE_TRY(const TorchValue left, value_of(e.parts[0]));
  FATUNE_TRY(const TorchValue right, value_of(e.parts[1]));
  if (left.kind == TorchKind::kWhole && right.kind == TorchKind::kWhole) {
    if (const auto result = computed(e.text, left.whole, right.whole)) return whole_of(*result);
  }
  // Other numbers in a tensor that is made are a tensor as good as it.
  for (const auto& [tensor, number] : {std::pair(&left, &right), std::pair(&right, &left)}) {
    if (tensor->is_made() && number->is_number()) return *tensor;
  }
  if (left.is_number() && right.is_number()) {
    if (const auto result = computed(e.text, left.number(), right.number()))
      return real_of(*result);
  }
  return wrong(
      left.is_tensor() || right.is_tensor()
          ? fmt::format("a tensor is part of '{}': more than attention is computed", e.text)
          : fmt::format("'{}' has no value", e.text));
}

Result<std::vector<TorchValue>> TorchReader::arguments(const PyExpression& e,
                                                       const std::vector<std::string>& parameters) {
  std::vector<TorchValue> values(parameters.size());
  if (e.parts.size() - 1 > parameters.size()) return wrong("it has too many arguments");
  for (std::size_t i = 1; i < e.parts.size(); ++i) {
    FATUNE_TRY(values[i - 1], value_of(e.parts[i]));
  }
  for (const auto& [name, expression] : e.keywords) {
    const auto at = std::ranges::find(parameters, name);
    if (at == parameters.end()) return wrong(fmt::format("'{}=' is not understood", name));
    FATUNE_TRY(values[static_cast<std::size_t>(at - parameters.begin())], value_of(expression));
  }
  return values;
}

Result<TorchValue> TorchReader::call(const PyExpression& e) {
  const PyExpression& callee = e.parts[0];
  if (callee.kind == PyExpression::Kind::kMember) {
    FATUNE_TRY(const TorchValue owner, value_of(callee.parts[0]));
    if (owner.is_tensor()) return method(owner, callee.text, e);
  }
  FATUNE_TRY(const TorchValue path, value_of(callee));
  if (path.kind != TorchKind::kPath) return wrong("what is called is not understood");
  if (is_seed(e) || path.text == "torch.Generator") return path;
  if (path.text == "torch.device") return TorchValue{.kind = TorchKind::kText};
  if (path.text == "torch.nn.functional.scaled_dot_product_attention") return attention(e);
  if (path.text == "torch.nn.attention.bias.causal_lower_right") return lower_right(e);
  if (path.text == "math.sqrt" || path.text == "float") return number_call(path.text, e);
  constexpr std::array<std::string_view, 5> kMakers = {"rand", "randn", "zeros", "ones", "empty"};
  if (path.text.starts_with("torch.") && path.text.rfind('.') == 5 &&
      std::ranges::count(kMakers, last_name(path.text)) > 0) {
    return made_tensor(e);
  }
  constexpr std::array<std::string_view, 4> kLikes = {"torch.rand_like", "torch.randn_like",
                                                      "torch.zeros_like", "torch.empty_like"};
  if (std::ranges::count(kLikes, path.text) > 0) return made_like(e);
  return wrong(fmt::format("{}() is called: more than attention is computed", path.text));
}

Result<TorchValue> TorchReader::number_call(const std::string& path, const PyExpression& e) {
  FATUNE_TRY(const auto values, arguments(e, {"x"}));
  if (!values[0].is_number() || values[0].number() < 0) return wrong(path + "() wants a number");
  return real_of(path == "float" ? values[0].number() : std::sqrt(values[0].number()));
}

Result<TorchValue> TorchReader::lower_right(const PyExpression& e) {
  FATUNE_TRY(const auto values, arguments(e, {"seq_len_q", "seq_len_kv"}));
  if (values[0].kind != TorchKind::kWhole || values[1].kind != TorchKind::kWhole)
    return wrong("causal_lower_right() wants two lengths");
  return TorchValue{.kind = TorchKind::kLowerRight, .shape = {values[0].whole, values[1].whole}};
}

std::string last_name(const std::string& path) { return path.substr(path.rfind('.') + 1); }

}  // namespace fatune
