// gemm.cpp: Parses a manifest's matrix product and evaluates it for a candidate.
#include "model/kernel/gemm.hpp"

#include <algorithm>
#include <functional>
#include <numeric>

#include <fmt/format.h>

#include "core/fields.hpp"
#include "core/text.hpp"
#include "model/kernel/candidate.hpp"
#include "model/kernel/manifest_parse.hpp"
#include "model/kernel/vocabulary.hpp"

namespace fatune {
namespace {

constexpr std::array kLibraries = {GemmLibrary::kCublas, GemmLibrary::kCutensor};
const std::array<std::string, 2> kLibraryNames = {"cublas", "cutensor"};
constexpr std::array kTypes = {GemmType::kF16, GemmType::kBf16, GemmType::kF32};
constexpr std::string_view kSameAsProblem = "io";
const std::array<std::string, 4> kTypeWords = {"io", "f16", "bf16", "f32"};

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

/// Evaluates to a whole number of at least `least`; `fallback` for an empty text.
Result<std::int64_t> count(const Evaluation& evaluation, const std::string& text,
                           const std::string& path, std::int64_t least, std::int64_t fallback = 1) {
  std::int64_t value = fallback;
  if (!text.empty()) {
    FATUNE_TRY(value, evaluation.count(text, path));
  }
  if (value >= least) return value;
  return file_error(
      fmt::format("{} is {}, but must be at least {}", evaluation.place(path), value, least));
}

/// Evaluates each text to a whole number of at least `least`.
Result<std::vector<std::int64_t>> counts(const Evaluation& evaluation,
                                         const std::vector<std::string>& texts,
                                         const std::string& path, std::int64_t least) {
  std::vector<std::int64_t> values;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    FATUNE_TRY(values.emplace_back(),
               count(evaluation, texts[i], fmt::format("{}[{}]", path, i), least));
  }
  return values;
}

GemmType type_of(const std::string& text, const Candidate& candidate) {
  const Value* chosen = candidate.config.find(text);
  if (const auto type = parse_type(chosen != nullptr ? chosen->word : text)) return *type;
  return dtype_of(candidate.problem, "q") == Dtype::kF16 ? GemmType::kF16 : GemmType::kBf16;
}

bool is_type(const std::string& text) { return std::ranges::count(kTypeWords, text) > 0; }

/// Tells whether every value of the parameter is a type's word, so that it can choose a type.
bool chooses_type(const Parameter& parameter) {
  return std::ranges::all_of(parameter.values, [](const Value& value) {
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
  const auto wide =
      std::ranges::find_if(manifest.dtypes, [](Dtype dtype) { return size_of(dtype) != 2; });
  const bool follows_problem = parameter != nullptr || text == kSameAsProblem;
  if (!follows_problem || wide == manifest.dtypes.end()) return {};
  return fields.error(key, fmt::format("is '{}', but 'supports.dtypes' has {}: products are of "
                                       "f16 and bf16 only",
                                       text, name(*wide)));
}

/// Reads an expression under `key`; keeps the default if the key is absent.
Status optional_expression(const Fields& fields, const std::string& key, std::string& text,
                           std::span<const std::string> known) {
  if (!fields.has(key)) return {};
  FATUNE_TRY(text, fields.text(key));
  return check_expression(text, place(fields, key), known);
}

/// Reads a list of expressions; empty if the key is absent.
Result<std::vector<std::string>> expressions(const Fields& fields, const std::string& key,
                                             std::span<const std::string> known) {
  FATUNE_TRY(std::vector<std::string> texts, fields.texts_or(key, {}));
  for (const std::string& text : texts)
    FATUNE_TRY_STATUS(check_expression(text, place(fields, key), known));
  return texts;
}

/// cuBLAS takes one stride of the batch; cuTENSOR takes one stride for each outer size.
Status parse_outer(const Fields& fields, std::span<const std::string> known, GemmSpec& spec) {
  FATUNE_TRY(spec.outer, expressions(fields, "outer", known));
  if (!spec.outer.empty() && spec.library == GemmLibrary::kCublas)
    return fields.error("outer", "is for cutensor: cublas knows one batch, of one stride");
  for (std::size_t i = 0; i < kGemmOperands.size(); ++i) {
    const std::string key = fmt::format("outer_stride_{}", kGemmOperands[i]);
    FATUNE_TRY(spec.operands[i].outer_strides, expressions(fields, key, known));
    if (spec.operands[i].outer_strides.size() == spec.outer.size()) continue;
    return fields.error(key, fmt::format("has {} strides for {} sizes of 'outer'",
                                         spec.operands[i].outer_strides.size(), spec.outer.size()));
  }
  return {};
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
  return kLibraryNames.at(static_cast<std::size_t>(library));
}
std::string_view describe(GemmLibrary library) {
  return library == GemmLibrary::kCublas ? "cuBLAS" : "cuTENSOR";
}
std::string_view name(GemmType type) { return kTypeWords.at(static_cast<std::size_t>(type) + 1); }
std::int64_t size_of(GemmType type) { return type == GemmType::kF32 ? 4 : 2; }

std::string describe(const GemmPlan& plan) {
  return fmt::format("{} {} x {} x {}, {} times", name(plan.library), plan.m, plan.n, plan.k,
                     plan.matrices());
}

std::int64_t GemmPlan::matrices() const {
  return std::accumulate(outer.begin(), outer.end(), batch, std::multiplies<>());
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
  f("outer_strides", x.outer_strides).omitted().at_least(0);
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
  f("outer", x.outer).omitted().at_least(1);
}

Result<GemmPlan> plan_gemm(const GemmSpec& spec, const std::string& path,
                           const Candidate& candidate, const Evaluation& evaluation) {
  const std::string gemm = path + ".gemm.";
  GemmPlan plan;
  plan.library = spec.library;
  FATUNE_TRY(plan.m, count(evaluation, spec.m, gemm + "m", 1));
  FATUNE_TRY(plan.n, count(evaluation, spec.n, gemm + "n", 1));
  FATUNE_TRY(plan.k, count(evaluation, spec.k, gemm + "k", 1));
  FATUNE_TRY(plan.batch, count(evaluation, spec.batch, gemm + "batch", 1));
  FATUNE_TRY(plan.outer, counts(evaluation, spec.outer, gemm + "outer", 1));
  FATUNE_TRY(plan.alpha, evaluation.number(spec.alpha, gemm + "alpha"));
  FATUNE_TRY(plan.algorithm, count(evaluation, spec.algorithm, gemm + "algorithm", 0));
  const std::int64_t sizes[][2] = {{plan.m, plan.k}, {plan.k, plan.n}, {plan.m, plan.n}};
  for (std::size_t i = 0; i < kGemmOperands.size(); ++i) {
    const GemmOperandSpec& from = spec.operands[i];
    GemmOperand& to = plan.operands[i];
    to = {from.buffer, type_of(from.type, candidate), sizes[i][0], sizes[i][1]};
    to.transpose = from.transpose;
    if (to.transpose) std::swap(to.rows, to.columns);
    FATUNE_TRY(to.pitch,
               count(evaluation, from.pitch, fmt::format("{}pitch_{}", gemm, kGemmOperands[i]),
                     to.columns, to.columns));
    FATUNE_TRY(to.stride,
               count(evaluation, from.stride, fmt::format("{}stride_{}", gemm, kGemmOperands[i]), 0,
                     to.rows * to.pitch));
    FATUNE_TRY(to.outer_strides,
               counts(evaluation, from.outer_strides,
                      fmt::format("{}outer_stride_{}", gemm, kGemmOperands[i]), 0));
  }
  return plan;
}

Result<GemmSpec> parse_gemm(const Fields& fields, const Manifest& manifest,
                            std::span<const std::string> buffers,
                            std::span<const std::string> known) {
  FATUNE_TRY_STATUS(fields.only({"library",
                                 "a",
                                 "b",
                                 "c",
                                 "a_type",
                                 "b_type",
                                 "c_type",
                                 "pitch_a",
                                 "pitch_b",
                                 "pitch_c",
                                 "stride_a",
                                 "stride_b",
                                 "stride_c",
                                 "outer",
                                 "alpha",
                                 "transpose_a",
                                 "transpose_b",
                                 "m",
                                 "n",
                                 "k",
                                 "batch",
                                 "algorithm",
                                 "outer_stride_a",
                                 "outer_stride_b",
                                 "outer_stride_c"}));
  GemmSpec spec;
  FATUNE_TRY(const std::string library, parse_one_of(fields, "library", nullptr, kLibraryNames));
  FATUNE_TRY(spec.library, parse_library(library));
  for (std::size_t i = 0; i < kGemmOperands.size(); ++i) {
    FATUNE_TRY(spec.operands[i],
               parse_operand(fields, std::string(kGemmOperands[i]), buffers, manifest, known));
  }
  for (const char* key : {"m", "n", "k"}) FATUNE_TRY_STATUS(fields.value(key));
  const std::pair<const char*, std::string*> sizes[] = {
      {"m", &spec.m},         {"n", &spec.n},         {"k", &spec.k},
      {"batch", &spec.batch}, {"alpha", &spec.alpha}, {"algorithm", &spec.algorithm}};
  for (const auto& [key, text] : sizes)
    FATUNE_TRY_STATUS(optional_expression(fields, key, *text, known));
  FATUNE_TRY_STATUS(parse_outer(fields, known, spec));
  return spec;
}

}  // namespace fatune
