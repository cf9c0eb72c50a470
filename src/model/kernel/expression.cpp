// expression.cpp: Evaluates an expression's steps on the values of its variables.
#include "model/kernel/expression.hpp"

#include <cmath>

#include <fmt/format.h>

#include "core/text.hpp"

namespace fatune {
namespace {

constexpr double kLargestCount = 9007199254740992;  // 2^53: exact in doubles
constexpr std::size_t kLongestQuoted = 1000;        // in messages; chosen

}  // namespace

Error Expression::error(const std::string& problem) const {
  const std::string_view shown = head(text_, kLongestQuoted);
  return file_error(fmt::format("{}: '{}{}' {}", where_, shown,
                                shown.size() < text_.size() ? "..." : "", problem));
}

std::string Expression::values_text() const {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < variables_.size(); ++i)
    parts.push_back(fmt::format("{}={}", variables_[i], values_[i]));
  return parts.empty() ? "" : fmt::format(" with {}", join(parts, " "));
}

double Expression::run() const {
  double* top = stack_.data();  // the first number lies above
  for (std::size_t at = 0; at < steps_.size();) {
    const Step& step = steps_[at++];
    switch (step.what) {
      case Do::kNumber:
        *++top = step.number;
        break;
      case Do::kVariable:
        *++top = values_[step.target];
        break;
      case Do::kKeep:
        kept_[step.target] = *top;
        break;
      case Do::kRecall:
        *++top = kept_[step.target];
        break;
      case Do::kJump:
        at = step.target;
        break;
      case Do::kChoose:
        // An undefined condition gives an undefined result: continue at the jump between the
        // branches.
        if (std::isnan(*top)) {
          at = step.target - 1;
        } else if (*top-- == 0) {
          at = step.target;
        }
        break;
      case Do::kAndThen:
        if (*top == 0) at = step.target;
        break;
      case Do::kOrElse:
        if (*top == 0 || std::isnan(*top)) break;
        *top = 1;
        at = step.target;
        break;
      case Do::kCall1:
        *top = step.function(*top, 0);
        break;
      case Do::kCall2:
        --top;
        *top = step.function(top[0], top[1]);
        break;
    }
  }
  return *top;
}

Result<double> Expression::evaluate() const {
  const double value = run();
  if (std::isfinite(value)) return value;
  return error(fmt::format("is not a finite number{} (division by zero?)", values_text()));
}

Result<bool> Expression::test() const {
  FATUNE_TRY(const double value, evaluate());
  return value != 0;
}

Result<std::int64_t> Expression::count() const {
  FATUNE_TRY(const double value, evaluate());
  if (value > kLargestCount) return static_cast<std::int64_t>(kLargestCount);
  if (value < 0 || value != std::floor(value)) {
    return error(fmt::format("is {}, which is not a whole number >= 0{}", value, values_text()));
  }
  return static_cast<std::int64_t>(value);
}

void Scope::set(std::string_view name, double value) {
  for (auto& [known, stored] : entries_) {
    if (known == name) {
      stored = value;
      return;
    }
  }
  entries_.emplace_back(name, value);
}

const double* Scope::find(std::string_view name) const {
  for (const auto& [known, value] : entries_) {
    if (known == name) return &value;
  }
  return nullptr;
}

std::vector<std::string> Scope::names() const {
  std::vector<std::string> names;
  for (const auto& entry : entries_) names.push_back(entry.first);
  return names;
}

Status Expression::bind(const Scope& scope) const {
  for (std::size_t i = 0; i < variables_.size(); ++i) {
    const double* value = scope.find(variables_[i]);
    if (value == nullptr) {
      return error(
          fmt::format("uses the unknown name '{}'{}", variables_[i],
                      nearest_hint(variables_[i], scope.names(), " (did you mean '{}'?)")));
    }
    values_[i] = *value;
  }
  return {};
}

Result<double> Expression::evaluate(const Scope& scope) const {
  FATUNE_TRY_STATUS(bind(scope));
  return evaluate();
}

Result<bool> Expression::test(const Scope& scope) const {
  FATUNE_TRY_STATUS(bind(scope));
  return test();
}

Result<std::int64_t> Expression::count(const Scope& scope) const {
  FATUNE_TRY_STATUS(bind(scope));
  return count();
}

}  // namespace fatune
