// gemm.cpp - a matrix product of a manifest to its spec, and to a candidate's plan.
#include "model/kernel/gemm.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "core/check.hpp"
#include "core/fields.hpp"
#include "core/text.hpp"
#include "model/kernel/candidate.hpp"
#include "model/kernel/manifest_parse.hpp"
#include "model/kernel/terms.hpp"
#include "model/kernel/vocabulary.hpp"

namespace fatune {
namespace {

constexpr std::array kLibraries = {GemmLibrary::kCublas};
constexpr std::array kTypes = {GemmType::kF16, GemmType::kBf16, GemmType::kF32};

template <typename E>
Result<E> parse_among(std::string_view text, std::string_view what, const auto& all) {
  std::vector<std::string> known;
  for (const E each : all) {
    if (name(each) == text) return each;
    known.emplace_back(name(each));
  }
  return usage_error(
      fmt::format("{} '{}' is unknown; known are {}", what, text, join(known, ", ")));
}

Result<GemmLibrary> parse_library(std::string_view text) {
  return parse_among<GemmLibrary>(text, "library", kLibraries);
}

Result<GemmType> parse_type(std::string_view text) {
  return parse_among<GemmType>(text, "type", kTypes);
}

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

constexpr std::string_view kSameAsProblem = "io";
const std::array<std::string, 4> kTypeWords = {"io", "f16", "bf16", "f32"};

bool is_type(const std::string& text) {
  return std::find(kTypeWords.begin(), kTypeWords.end(), text) != kTypeWords.end();
}

/// Whether every value of the parameter is a type's word, so that it can choose one.
bool chooses_type(const Parameter& parameter) {
  return std::all_of(parameter.values.begin(), parameter.values.end(), [](const Value& value) {
    return value.kind == Value::Kind::kWord && is_type(value.word);
  });
}

Status check_type(const Fields& fields, const std::string& key, const std::string& text,
                  const Manifest& manifest) {
  const Parameter* parameter = manifest.find(text);
  if (parameter == nullptr && !is_type(text)) {
    return fields.error(key, fmt::format("is '{}', which is neither a parameter nor one of {}",
                                         text, join(kTypeWords, ", ")));
  }
  if (parameter != nullptr && !chooses_type(*parameter)) {
    return fields.error(key, fmt::format("is '{}', a parameter whose values are not all of {}",
                                         text, join(kTypeWords, ", ")));
  }
  const auto wide = std::find_if(manifest.dtypes.begin(), manifest.dtypes.end(),
                                 [](Dtype dtype) { return size_of(dtype) != 2; });
  const bool follows_problem = parameter != nullptr || text == kSameAsProblem;
  if (!follows_problem || wide == manifest.dtypes.end()) return {};
  return fields.error(key, fmt::format("is '{}', but 'supports.dtypes' has {}: products are of "
                                       "f16 and bf16 only",
                                       text, name(*wide)));
}

/// An expression under `key`; left as it is when the key is absent.
Status optional_expression(const Fields& fields, const std::string& key, std::string& text,
                           std::span<const std::string> known) {
  if (!fields.has(key)) return {};
  FATUNE_TRY(text, fields.text(key));
  return check_expression(text, place(fields, key), known);
}

Result<GemmOperandSpec> parse_operand(const Fields& fields, const std::string& operand,
                                      std::span<const std::string> buffers,
                                      const Manifest& manifest,
                                      std::span<const std::string> known) {
  GemmOperandSpec spec;
  FATUNE_TRY(spec.buffer, parse_one_of(fields, operand, nullptr, buffers));
  FATUNE_TRY(spec.type, fields.text_or(operand + "_type", spec.type));
  FATUNE_TRY_STATUS(check_type(fields, operand + "_type", spec.type, manifest));
  FATUNE_TRY_STATUS(optional_expression(fields, "pitch_" + operand, spec.pitch, known));
  FATUNE_TRY_STATUS(optional_expression(fields, "stride_" + operand, spec.stride, known));
  FATUNE_TRY(spec.transpose, fields.boolean_or("transpose_" + operand, false));
  return spec;
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

FieldWord<GemmLibrary> word_of(const GemmLibrary*) { return {parse_library, kLibraries}; }
FieldWord<GemmType> word_of(const GemmType*) { return {parse_type, kTypes}; }

void fields(GemmOperand& x, FieldList& f) {
  f("buffer", x.buffer).required();
  f("type", x.type).required();
  f("rows", x.rows).required().at_least(1);
  f("columns", x.columns).required().at_least(1);
  f("pitch", x.pitch).required().at_least(1);
  f("stride", x.stride).required().at_least(0);
  f("transpose", x.transpose);
}

void fields(GemmPlan& x, FieldList& f) {
  f("library", x.library).required();
  for (std::size_t i = 0; i < kGemmOperands.size(); ++i)
    f(kGemmOperands[i].data(), x.operands[i]).required();
  f("m", x.m).required().at_least(1);
  f("n", x.n).required().at_least(1);
  f("k", x.k).required().at_least(1);
  f("batch", x.batch).required().at_least(1);
  f("alpha", x.alpha).required().finite();
  f("algorithm", x.algorithm).required().at_least(0);
  f("or_last", x.or_last).omitted();
}

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

Result<GemmSpec> parse_gemm(const Fields& fields, const Manifest& manifest,
                            std::span<const std::string> buffers,
                            std::span<const std::string> known) {
  FATUNE_TRY_STATUS(fields.only(
      {"library",     "a",       "b",       "c",        "a_type",   "b_type",   "c_type",
       "pitch_a",     "pitch_b", "pitch_c", "stride_a", "stride_b", "stride_c", "transpose_a",
       "transpose_b", "m",       "n",       "k",        "batch",    "alpha",    "algorithm"}));
  GemmSpec spec;
  const std::string known_library(name(GemmLibrary::kCublas));
  FATUNE_TRY(const std::string library,
             parse_one_of(fields, "library", nullptr, {&known_library, 1}));
  FATUNE_TRY(spec.library, parse_library(library));
  for (std::size_t i = 0; i < kGemmOperands.size(); ++i) {
    FATUNE_TRY(spec.operands[i],
               parse_operand(fields, std::string(kGemmOperands[i]), buffers, manifest, known));
  }
  FATUNE_TRY_STATUS(fields.require({"m", "n", "k"}));
  const std::pair<const char*, std::string*> sizes[] = {
      {"m", &spec.m},         {"n", &spec.n},         {"k", &spec.k},
      {"batch", &spec.batch}, {"alpha", &spec.alpha}, {"algorithm", &spec.algorithm}};
  for (const auto& [key, text] : sizes)
    FATUNE_TRY_STATUS(optional_expression(fields, key, *text, known));
  return spec;
}

}  // namespace fatune
