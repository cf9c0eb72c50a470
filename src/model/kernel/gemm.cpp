// gemm.cpp - a matrix product's plan to words and JSON, and back.
#include "model/kernel/gemm.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/check.hpp"

namespace fatune {
namespace {

constexpr std::array kLibraries = {GemmLibrary::kCublas};
constexpr std::array kTypes = {GemmType::kF16, GemmType::kBf16, GemmType::kF32};

Result<std::int64_t> at_least(const Fields& fields, std::string_view key, std::int64_t least) {
  FATUNE_TRY(const std::int64_t value, fields.integer(key));
  if (value < least) return fields.error(key, fmt::format("must be at least {}", least));
  return value;
}

/// The value of an enumeration by its name.
template <typename Values>
Result<typename Values::value_type> by_name(const Fields& fields, std::string_view key,
                                            const Values& values) {
  FATUNE_TRY(const std::string text, fields.text(key));
  for (const auto value : values) {
    if (name(value) == text) return value;
  }
  return fields.error(key, fmt::format("is '{}', which is not known", text));
}

Json to_json(const GemmOperand& operand) {
  return {{"buffer", operand.buffer},      {"type", name(operand.type)}, {"rows", operand.rows},
          {"columns", operand.columns},    {"pitch", operand.pitch},     {"stride", operand.stride},
          {"transpose", operand.transpose}};
}

Result<GemmOperand> operand_from_json(const Fields& fields) {
  GemmOperand operand;
  FATUNE_TRY(operand.buffer, fields.text("buffer"));
  FATUNE_TRY(operand.type, by_name(fields, "type", kTypes));
  FATUNE_TRY(operand.rows, at_least(fields, "rows", 1));
  FATUNE_TRY(operand.columns, at_least(fields, "columns", 1));
  FATUNE_TRY(operand.pitch, at_least(fields, "pitch", 1));
  FATUNE_TRY(operand.stride, at_least(fields, "stride", 0));
  FATUNE_TRY(operand.transpose, fields.boolean_or("transpose", false));
  return operand;
}

}  // namespace

std::string_view name(GemmLibrary library) {
  switch (library) {
    case GemmLibrary::kCublas:
      return "cublas";
  }
  fail_check("library", "a GemmLibrary is one of the two", __FILE__, __LINE__);
}

std::string_view name(GemmType type) {
  switch (type) {
    case GemmType::kF16:
      return "f16";
    case GemmType::kBf16:
      return "bf16";
    case GemmType::kF32:
      return "f32";
  }
  fail_check("type", "a GemmType is one of the three", __FILE__, __LINE__);
}

std::int64_t size_of(GemmType type) { return type == GemmType::kF32 ? 4 : 2; }

std::string describe(const GemmPlan& plan) {
  return fmt::format("{} {} x {} x {}, {} times", name(plan.library), plan.m, plan.n, plan.k,
                     plan.batch);
}

Json to_json(const GemmPlan& plan) {
  Json object = {{"library", name(plan.library)}};
  for (std::size_t i = 0; i < kGemmOperands.size(); ++i) {
    object[std::string(kGemmOperands[i])] = to_json(plan.operands[i]);
  }
  object["m"] = plan.m;
  object["n"] = plan.n;
  object["k"] = plan.k;
  object["batch"] = plan.batch;
  object["alpha"] = plan.alpha;
  object["algorithm"] = plan.algorithm;
  if (plan.or_last) object["or_last"] = true;
  return object;
}

Result<GemmPlan> gemm_plan_from_json(const Json& object, const std::string& where) {
  const Fields fields(object, where);
  GemmPlan plan;
  FATUNE_TRY(plan.library, by_name(fields, "library", kLibraries));
  for (std::size_t i = 0; i < kGemmOperands.size(); ++i) {
    FATUNE_TRY(const Fields operand, fields.object(kGemmOperands[i]));
    FATUNE_TRY(plan.operands[i], operand_from_json(operand));
  }
  FATUNE_TRY(plan.m, at_least(fields, "m", 1));
  FATUNE_TRY(plan.n, at_least(fields, "n", 1));
  FATUNE_TRY(plan.k, at_least(fields, "k", 1));
  FATUNE_TRY(plan.batch, at_least(fields, "batch", 1));
  FATUNE_TRY(plan.alpha, fields.number("alpha"));
  FATUNE_TRY(plan.algorithm, at_least(fields, "algorithm", 0));
  FATUNE_TRY(plan.or_last, fields.boolean_or("or_last", false));
  return plan;
}

}  // namespace fatune
