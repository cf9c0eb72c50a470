// gemm_plan.cpp - sizes, types and distances of a matrix product from its expressions.
#include "model/kernel/gemm_plan.hpp"

#include <fmt/format.h>

#include "core/check.hpp"
#include "model/kernel/terms.hpp"

namespace fatune {
namespace {

class GemmPlanner {
 public:
  GemmPlanner(const std::string& path, const Candidate& candidate, const Scope& scope)
      : path_(path), candidate_(candidate), scope_(scope) {}

  std::string place(const std::string& field) const {
    return fmt::format("{}: field '{}.gemm.{}'", candidate_.kernel->manifest.where, path_, field);
  }
  Result<Expression> parse(const std::string& text, const std::string& field) const {
    return Expression::parse(expand_terms(candidate_.kernel->manifest, text), place(field));
  }
  /// A whole number of at least `least`; `fallback` when the text is empty.
  Result<std::int64_t> count(const std::string& text, const std::string& field,
                             std::int64_t fallback, std::int64_t least) const {
    std::int64_t value = fallback;
    if (!text.empty()) {
      FATUNE_TRY(const Expression expression, parse(text, field));
      FATUNE_TRY(value, expression.count(scope_));
    }
    if (value >= least) return value;
    return file_error(fmt::format("{} is {}, but must be at least {}", place(field), value, least));
  }
  Result<double> number(const std::string& text, const std::string& field) const {
    FATUNE_TRY(const Expression expression, parse(text, field));
    return expression.evaluate(scope_);
  }

  GemmType type(const std::string& text) const {
    const Value* chosen = candidate_.config.find(text);
    const std::string& word = chosen != nullptr ? chosen->word : text;
    if (word == "f32") return GemmType::kF32;
    if (word == "f16") return GemmType::kF16;
    if (word == "bf16") return GemmType::kBf16;
    FATUNE_CHECK(word == "io", "the manifest's reader accepts no other type");
    return candidate_.problem.dtype == Dtype::kF16 ? GemmType::kF16 : GemmType::kBf16;
  }

  /// Fills all but rows and columns, which depend on the product's sizes.
  Status fill(GemmOperand& operand, const GemmOperandSpec& spec, std::string_view key) const {
    operand.buffer = spec.buffer;
    operand.type = type(spec.type);
    operand.transpose = spec.transpose;
    if (spec.transpose) std::swap(operand.rows, operand.columns);
    FATUNE_TRY(operand.pitch,
               count(spec.pitch, fmt::format("pitch_{}", key), operand.columns, operand.columns));
    FATUNE_TRY(operand.stride,
               count(spec.stride, fmt::format("stride_{}", key), operand.rows * operand.pitch, 0));
    return {};
  }

 private:
  const std::string& path_;
  const Candidate& candidate_;
  const Scope& scope_;
};

}  // namespace

Result<GemmPlan> plan_gemm(const GemmSpec& spec, const std::string& path,
                           const Candidate& candidate, const Scope& scope) {
  const GemmPlanner planner(path, candidate, scope);
  GemmPlan plan;
  plan.library = spec.library;
  FATUNE_TRY(plan.m, planner.count(spec.m, "m", 1, 1));
  FATUNE_TRY(plan.n, planner.count(spec.n, "n", 1, 1));
  FATUNE_TRY(plan.k, planner.count(spec.k, "k", 1, 1));
  FATUNE_TRY(plan.batch, planner.count(spec.batch, "batch", 1, 1));
  FATUNE_TRY(plan.alpha, planner.number(spec.alpha, "alpha"));
  FATUNE_TRY(plan.algorithm, planner.count(spec.algorithm, "algorithm", 0, 0));
  const std::int64_t sizes[][2] = {{plan.m, plan.k}, {plan.k, plan.n}, {plan.m, plan.n}};
  for (std::size_t i = 0; i < kGemmOperands.size(); ++i) {
    plan.operands[i].rows = sizes[i][0];
    plan.operands[i].columns = sizes[i][1];
    FATUNE_TRY_STATUS(planner.fill(plan.operands[i], spec.operands[i], kGemmOperands[i]));
  }
  return plan;
}

}  // namespace fatune
