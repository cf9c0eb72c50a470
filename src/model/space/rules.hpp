// rules.hpp - a manifest's constraints and a device's limits as predicates over configs.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "model/kernel/expression.hpp"
#include "model/kernel/limits.hpp"
#include "model/kernel/manifest.hpp"
#include "model/problem/problem.hpp"

namespace fatune {

/// One predicate, bound to a problem and a device. Refers to the manifest, problem and limits it
/// was compiled from.
class CompiledRule {
 public:
  const std::string& text() const { return text_; }
  const std::string& why() const { return why_; }
  bool prunes() const { return prunes_; }  ///< a config that breaks it is right, but pointless
  /// Part of a parameter's 'when': configs that break it are no configs of the space at all.
  bool is_choice() const { return is_choice_; }
  /// Positions, in the manifest's parameter list and ascending, of the parameters it depends on.
  const std::vector<std::size_t>& axes() const { return axes_; }
  /// `positions` has one entry for each parameter: which of its values.
  Result<bool> holds(std::span<const std::uint16_t> positions);
  /// Why it does not hold, in words; empty when it does.
  Result<std::string> broken_reason(std::span<const std::uint16_t> positions);

 private:
  friend class RuleCompiler;
  enum class Kind { kConstraint, kShared, kBlock, kGrid, kBox, kMemory };
  struct Binding {
    std::size_t expression, variable, axis;
  };

  Result<bool> check(std::span<const std::uint16_t> positions, std::string* why);

  Kind kind_ = Kind::kConstraint;
  std::string text_, why_;
  bool prunes_ = false, is_choice_ = false;
  std::vector<Expression> expressions_;
  std::vector<Binding> bindings_;
  std::vector<std::size_t> axes_;
  const Manifest* manifest_ = nullptr;
  const Problem* problem_ = nullptr;
  const DeviceLimits* limits_ = nullptr;
  int swizzle_ = 0;  ///< of a box
  std::vector<std::int64_t> amounts_;
};

/// Where parameters are choices, then the constraints in the manifest's order, then what the device
/// limits.
Result<std::vector<CompiledRule>> compile_rules(const Manifest& manifest, const Problem& problem,
                                                const DeviceLimits& limits);

/// Which of its parameter's values each setting is; the errors name parameter and choices.
Result<std::vector<std::uint16_t>> positions_of(const Manifest& manifest, const Config& config);

}  // namespace fatune
