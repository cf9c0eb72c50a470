// rules.hpp: Turns constraints and limits into predicates, and lists the configs that satisfy them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "model/kernel/candidate.hpp"
#include "model/kernel/expression.hpp"
#include "model/kernel/limits.hpp"
#include "model/kernel/manifest.hpp"
#include "model/problem/problem.hpp"

namespace fatune {

/// One predicate, bound to a problem and a device. Refers to the manifest, problem and limits of
/// its compilation.
class CompiledRule {
 public:
  const std::string& text() const { return text_; }
  const std::string& why() const { return why_; }
  bool prunes() const { return prunes_; }  ///< configs that break it are correct but pointless
  /// The rule is part of a parameter's 'when': configs that break it are not in the space.
  bool is_choice() const { return is_choice_; }
  /// Ascending indices, in the manifest's parameter list, of the parameters that the rule depends
  /// on.
  const std::vector<std::size_t>& axes() const { return axes_; }
  /// Evaluates the rule; `positions` has the value index of each parameter. Writes the reason for a
  /// failure to `why` unless `why` is null.
  Result<bool> holds(std::span<const std::uint16_t> positions, std::string* why = nullptr);

 private:
  friend class RuleCompiler;
  enum class Kind { kConstraint, kShared, kBlock, kGrid, kBox, kMemory };
  struct Binding {
    std::size_t expression, variable, axis;
  };

  Kind kind_ = Kind::kConstraint;
  std::string text_, why_;
  bool prunes_ = false, is_choice_ = false;
  std::vector<Expression> expressions_;
  std::vector<Binding> bindings_;
  std::vector<std::size_t> axes_;
  const Manifest* manifest_ = nullptr;
  const Problem* problem_ = nullptr;
  Dtype element_ = Dtype::kF16;  ///< of a tensor map's box
  const DeviceLimits* limits_ = nullptr;
  std::vector<std::int64_t> amounts_;
};

/// Returns the rules of 'when', then the constraints in the manifest's order, then the device
/// limits.
Result<std::vector<CompiledRule>> compile_rules(const Manifest& manifest, const Problem& problem,
                                                const DeviceLimits& limits);

/// Returns the value index of each setting; errors name parameter and choices.
Result<std::vector<std::uint16_t>> positions_of(const Manifest& manifest, const Config& config);

/// `kNecessary` omits constraints that only prune: a finalist is correct on problems for which it
/// would be a poor choice.
enum class Strictness { kAll, kNecessary };

/// The rules of a kernel for a problem and a device, compiled once for many configs.
class Feasibility {
 public:
  static Result<Feasibility> make(KernelRef kernel, const Problem& problem,
                                  const DeviceLimits& limits);

  /// Returns why a config cannot run: the first broken constraint with its reason, or the exceeded
  /// limit; empty if it can run.
  Result<std::string> broken(const Config& config, Strictness strictness = Strictness::kAll);

 private:
  /// The rules refer to the other three members.
  struct Rules {
    KernelRef kernel;
    Problem problem;
    DeviceLimits limits;
    std::vector<CompiledRule> all{};
  };
  std::unique_ptr<Rules> rules_;
};

/// Returns why one candidate cannot run; empty if it can.
Result<std::string> infeasible_reason(const Candidate& candidate, const DeviceLimits& limits,
                                      Strictness strictness = Strictness::kAll);

/// Returns why the kernel cannot solve the problem, or the config cannot run on this device, by the
/// necessary constraints. Empty if it can.
Result<std::string> impossible_reason(const Candidate& candidate, const DeviceLimits& limits);

struct Enumeration {
  std::vector<std::uint64_t> codes;     ///< ascending; mixed-radix, the last axis is the fastest
  std::uint64_t raw_size = 0;           ///< points that break no parameter's 'when'
  std::vector<std::uint64_t> excluded;  ///< for each rule: raw points it was the first to exclude
  std::uint64_t steps = 0;              ///< values tried, over all levels of the walk
  bool too_large = false;  ///< stopped: more valid points than `limit`, or too many to visit
};

/// Describes a point for an error message.
using DescribePoint = std::function<std::string(std::span<const std::uint16_t>)>;

/// Evaluates a rule once its last axis is fixed, and once for each combination of its axes, so a
/// rule excludes whole subtrees. A rule that cannot be evaluated at a point that no earlier rule
/// excludes is an error. The product of `sizes`, each at least 1, must fit 63 bits.
Result<Enumeration> enumerate(std::span<const std::size_t> sizes, std::span<CompiledRule> rules,
                              std::uint64_t limit, const DescribePoint& describe_point);

}  // namespace fatune
