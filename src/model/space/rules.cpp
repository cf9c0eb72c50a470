// rules.cpp: Binds constraints and device limits to a problem, and evaluates them on configs.
#include "model/space/rules.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "model/kernel/vocabulary.hpp"

namespace fatune {

Result<bool> CompiledRule::holds(std::span<const std::uint16_t> positions, std::string* why) {
  for (const Binding& binding : bindings_) {
    const Parameter& parameter = manifest_->parameters[binding.axis];
    const std::int64_t number = parameter.values[positions[binding.axis]].number;
    expressions_[binding.expression].set(binding.variable, static_cast<double>(number));
  }
  if (kind_ == Kind::kConstraint) {
    FATUNE_TRY(const bool holds, expressions_.front().test());
    if (!holds && why != nullptr) *why = fmt::format("breaks {}: {}", text_, why_);
    return holds;
  }
  amounts_.clear();
  for (const Expression& expression : expressions_) {
    FATUNE_TRY(const std::int64_t amount, expression.count());
    amounts_.push_back(amount);
  }
  const std::span<const std::int64_t> amounts(amounts_);
  switch (kind_) {
    case Kind::kShared:
      return shared_fits(amounts[0], amounts[1], *limits_, why);
    case Kind::kBlock:
      return block_fits(amounts, *limits_, why);
    case Kind::kGrid:
      return grid_fits(amounts.first(3), amounts.last(3), *limits_, why);
    case Kind::kBox:
      return box_fits(amounts.first(4), amounts[4], element_, why);
    case Kind::kMemory:
    case Kind::kConstraint:
      break;
  }
  return memory_fits(amounts, *problem_, *limits_, why);
}

/// Collects the rules of one manifest.
class RuleCompiler {
 public:
  RuleCompiler(const Manifest& manifest, const Problem& problem, const DeviceLimits& limits)
      : manifest_(manifest),
        problem_(problem),
        limits_(limits),
        scope_(config_free_scope(manifest, problem, limits)) {}

  Result<std::vector<CompiledRule>> compile() {
    for (const Parameter& parameter : manifest_.parameters) {
      for (const Rule& rule : parameter.when) {
        FATUNE_TRY_STATUS(add_constraint(rule, choice_text(parameter, rule)));
        rules_.back().is_choice_ = true;
      }
    }
    for (const Rule& rule : manifest_.constraints) {
      FATUNE_TRY_STATUS(add_constraint(rule, rule.require));
    }
    for (std::size_t i = 0; i < manifest_.stages.size(); ++i) {
      if (manifest_.stages[i].gemm) continue;
      FATUNE_TRY_STATUS(compile_stage(manifest_.stages[i], fmt::format("stages[{}]", i)));
    }
    for (std::size_t i = 0; i < manifest_.tensor_maps.size(); ++i) {
      const TensorMapSpec& map = manifest_.tensor_maps[i];
      CompiledRule& box = begin(CompiledRule::Kind::kBox, "box of tensor map " + map.name,
                                "what a tensor map can describe");
      const Attention* attention = map.sizes.empty() ? problem_.attention() : nullptr;
      box.element_ = attention ? dtype_of(*attention, map.tensor) : problem_.dtype();
      FATUNE_TRY_STATUS(add_all(box, map.box, fmt::format("tensor_maps[{}].box", i)));
      const std::string path = fmt::format("tensor_maps[{}].swizzle", i);
      FATUNE_TRY_STATUS(add(box, map.swizzle, field(path)));
    }
    CompiledRule& memory =
        begin(CompiledRule::Kind::kMemory, "device memory", "tensors and scratch must fit");
    for (std::size_t i = 0; i < manifest_.scratch.size(); ++i) {
      FATUNE_TRY_STATUS(
          add(memory, manifest_.scratch[i].bytes, field(fmt::format("scratch[{}].bytes", i))));
    }
    return std::move(rules_);
  }

 private:
  std::string field(const std::string& path) const {
    return fmt::format("{}: field '{}'", manifest_.where, path);
  }

  Status add_constraint(const Rule& rule, const std::string& text) {
    CompiledRule& compiled = begin(CompiledRule::Kind::kConstraint, text, rule.why);
    compiled.prunes_ = rule.prunes;
    return add(compiled, text, rule.where, rule.syntax);
  }

  Status compile_stage(const StageSpec& stage, const std::string& path) {
    CompiledRule& shared =
        begin(CompiledRule::Kind::kShared, "shared memory of " + stage.entry,
              fmt::format("the device allows {} bytes a block", limits_.max_shared_block));
    FATUNE_TRY_STATUS(add(shared, stage.shared_bytes, field(path + ".shared_bytes")));
    FATUNE_TRY_STATUS(add(shared, stage.static_shared_bytes, field(path + ".static_shared_bytes")));
    CompiledRule& block =
        begin(CompiledRule::Kind::kBlock, "threads of " + stage.entry,
              fmt::format("the device allows {} threads a block", limits_.max_threads_block));
    FATUNE_TRY_STATUS(add_all(block, stage.block, path + ".block"));
    CompiledRule& grid =
        begin(CompiledRule::Kind::kGrid, "grid of " + stage.entry, describe_grid_limits(limits_));
    FATUNE_TRY_STATUS(add_all(grid, stage.grid, path + ".grid"));
    return add_all(grid, stage.cluster, path + ".cluster");
  }

  CompiledRule& begin(CompiledRule::Kind kind, std::string text, std::string why) {
    CompiledRule& rule = rules_.emplace_back();
    rule.kind_ = kind;
    rule.text_ = std::move(text);
    rule.why_ = std::move(why);
    rule.manifest_ = &manifest_;
    rule.problem_ = &problem_;
    rule.limits_ = &limits_;
    return rule;
  }

  Status add_all(CompiledRule& rule, const std::vector<std::string>& texts,
                 const std::string& path) {
    for (std::size_t i = 0; i < texts.size(); ++i) {
      FATUNE_TRY_STATUS(add(rule, texts[i], field(fmt::format("{}[{}]", path, i))));
    }
    return {};
  }

  /// Parses the text without terms, substitutes the constants, and records the parameters among the
  /// variables.
  Status add(CompiledRule& rule, const std::string& text, const std::string& where,
             Syntax syntax = Syntax::kManifest) {
    FATUNE_TRY(Expression expression,
               Expression::parse(expand_terms(manifest_, text), where, syntax));
    const std::vector<std::string>& variables = expression.variables();
    for (std::size_t i = 0; i < variables.size(); ++i) {
      if (const Parameter* parameter = manifest_.find(variables[i])) {
        const auto axis = static_cast<std::size_t>(parameter - manifest_.parameters.data());
        rule.bindings_.push_back({rule.expressions_.size(), i, axis});
        const auto at = std::ranges::lower_bound(rule.axes_, axis);
        if (at == rule.axes_.end() || *at != axis) rule.axes_.insert(at, axis);
        continue;
      }
      const double* value = scope_.find(variables[i]);
      if (value == nullptr) {
        return file_error(
            fmt::format("{}: '{}' uses the unknown name '{}'", where, text, variables[i]));
      }
      expression.set(i, *value);
    }
    rule.expressions_.push_back(std::move(expression));
    return {};
  }

  const Manifest& manifest_;
  const Problem& problem_;
  const DeviceLimits& limits_;
  Scope scope_;
  std::vector<CompiledRule> rules_;
};

Result<std::vector<CompiledRule>> compile_rules(const Manifest& manifest, const Problem& problem,
                                                const DeviceLimits& limits) {
  return RuleCompiler(manifest, problem, limits).compile();
}

Result<std::vector<std::uint16_t>> positions_of(const Manifest& manifest, const Config& config) {
  for (const Setting& setting : config.settings) {
    if (manifest.find(setting.name) != nullptr) continue;
    return usage_error(fmt::format("{} is not a parameter of {}", setting.name, manifest.name));
  }
  std::vector<std::uint16_t> positions;
  for (const Parameter& parameter : manifest.parameters) {
    const Value* value = config.find(parameter.name);
    if (value == nullptr) {
      return usage_error(fmt::format("the config of {} has no {}", manifest.name, parameter.name));
    }
    const auto found = std::ranges::find(parameter.values, *value);
    if (found == parameter.values.end()) {
      return usage_error(fmt::format("{}={} is not among the values of {}", parameter.name,
                                     describe(*value), manifest.name));
    }
    positions.push_back(static_cast<std::uint16_t>(found - parameter.values.begin()));
  }
  return positions;
}

Result<Feasibility> Feasibility::make(KernelRef kernel, const Problem& problem,
                                      const DeviceLimits& limits) {
  Feasibility made;
  made.rules_ = std::make_unique<Rules>(Rules{std::move(kernel), problem, limits});
  Rules& rules = *made.rules_;
  FATUNE_TRY(rules.all, compile_rules(rules.kernel->manifest, rules.problem, rules.limits));
  return made;
}

Result<std::string> Feasibility::broken(const Config& config, Strictness strictness) {
  const Manifest& manifest = rules_->kernel->manifest;
  FATUNE_TRY(const std::vector<std::uint16_t> positions, positions_of(manifest, config));
  for (CompiledRule& rule : rules_->all) {
    if (rule.prunes() && strictness == Strictness::kNecessary) continue;
    std::string reason;
    FATUNE_TRY(const bool holds, rule.holds(positions, &reason));
    if (!holds) return reason;
  }
  return std::string();
}

Result<std::string> infeasible_reason(const Candidate& candidate, const DeviceLimits& limits,
                                      Strictness strictness) {
  FATUNE_TRY(Feasibility rules, Feasibility::make(candidate.kernel, candidate.problem, limits));
  return rules.broken(candidate.config, strictness);
}

Result<std::string> impossible_reason(const Candidate& candidate, const DeviceLimits& limits) {
  FATUNE_TRY(std::string reason,
             unsupported_reason(candidate.kernel->manifest, candidate.problem, limits));
  if (!reason.empty()) return reason;
  return infeasible_reason(candidate, limits, Strictness::kNecessary);
}

}  // namespace fatune
