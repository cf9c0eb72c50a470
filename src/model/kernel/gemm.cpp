// gemm.cpp: Lists and checks a manifest's matrix product, and evaluates it for a candidate.
#include "model/kernel/gemm.hpp"

#include <algorithm>
#include <functional>
#include <numeric>

#include <fmt/format.h>

#include "core/fields.hpp"
#include "core/text.hpp"
#include "core/words.hpp"
#include "model/kernel/candidate.hpp"
#include "model/kernel/manifest_check.hpp"
#include "model/kernel/vocabulary.hpp"

namespace fatune {
namespace {

constexpr std::array kLibraries = {GemmLibrary::kCublas, GemmLibrary::kCutensor};
const std::array<std::string, 2> kLibraryNames = {"cublas", "cutensor"};
constexpr std::array kTypes = {GemmType::kF16, GemmType::kBf16, GemmType::kF32};
constexpr std::string_view kSameAsProblem = "io";
const std::array<std::string, 4> kTypeWords = {"io", "f16", "bf16", "f32"};

/// Members of an operand in the product's object.
struct OperandKeys {
  const char *buffer, *type, *pitch, *stride, *outer_strides;
  const char* transpose;  ///< null for c
};
constexpr std::array<OperandKeys, 3> kOperandKeys = {
    {{"a", "a_type", "pitch_a", "stride_a", "outer_stride_a", "transpose_a"},
     {"b", "b_type", "pitch_b", "stride_b", "outer_stride_b", "transpose_b"},
     {"c", "c_type", "pitch_c", "stride_c", "outer_stride_c", nullptr}}};

Result<GemmLibrary> parse_library(std::string_view text) {
  return parse_word<GemmLibrary>(text, kLibraries, "library");
}

Result<GemmType> parse_type(std::string_view text) {
  return parse_word<GemmType>(text, kTypes, "type");
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
  const auto is_half = [](const Attention& p) { return dtype_of(p, "q") == Dtype::kF16; };
  return candidate.problem.is(is_half) ? GemmType::kF16 : GemmType::kBf16;
}

bool is_type(const std::string& text) { return std::ranges::count(kTypeWords, text) > 0; }

/// Tells whether every value of the parameter is a type's word, so that it can choose a type.
bool chooses_type(const Parameter& parameter) {
  return std::ranges::all_of(parameter.values, [](const Value& value) {
    return value.kind == Value::Kind::kWord && is_type(value.word);
  });
}

/// Returns the fault of an operand's type; empty for a valid type.
std::string type_fault(const std::string& text, const Manifest& manifest) {
  const Parameter* parameter = manifest.find(text);
  const std::string words = join(kTypeWords, ", ");
  if (parameter == nullptr && !is_type(text))
    return fmt::format("is '{}', which is neither a parameter nor one of {}", text, words);
  if (parameter != nullptr && !chooses_type(*parameter))
    return fmt::format("is '{}', a parameter whose values are not all of {}", text, words);
  const auto wide =
      std::ranges::find_if(manifest.dtypes, [](Dtype dtype) { return size_of(dtype) != 2; });
  const bool follows_problem = parameter != nullptr || text == kSameAsProblem;
  if (!follows_problem || wide == manifest.dtypes.end()) return {};
  return fmt::format("is '{}', but 'supports.dtypes' has {}: products are of f16 and bf16 only",
                     text, name(*wide));
}

Status check_operand(const GemmOperandSpec& operand, const OperandKeys& keys,
                     const std::string& path, const Manifest& manifest, const Checks& check,
                     std::span<const std::string> buffers) {
  if (std::ranges::count(buffers, operand.buffer) == 0) {
    return check.error(path + keys.buffer, fmt::format("is '{}', which is not one of {}",
                                                       operand.buffer, join(buffers, ", ")));
  }
  const std::string fault = type_fault(operand.type, manifest);
  if (!fault.empty()) return check.error(path + keys.type, fault);
  for (const auto& [key, text] :
       {std::pair(keys.pitch, &operand.pitch), std::pair(keys.stride, &operand.stride)})
    if (!text->empty()) FATUNE_TRY_STATUS(check.text(path + key, *text));
  return check.texts(path + keys.outer_strides, operand.outer_strides);
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
  for (std::size_t i = 0; i < kOperandKeys.size(); ++i)
    f(kOperandKeys[i].buffer, x.operands[i]).required();
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
  for (std::size_t i = 0; i < kOperandKeys.size(); ++i) {
    const GemmOperandSpec& from = spec.operands[i];
    const OperandKeys& keys = kOperandKeys[i];
    GemmOperand& to = plan.operands[i];
    to = {from.buffer, type_of(from.type, candidate), sizes[i][0], sizes[i][1]};
    to.transpose = from.transpose;
    if (to.transpose) std::swap(to.rows, to.columns);
    FATUNE_TRY(to.pitch, count(evaluation, from.pitch, gemm + keys.pitch, to.columns, to.columns));
    FATUNE_TRY(to.stride,
               count(evaluation, from.stride, gemm + keys.stride, 0, to.rows * to.pitch));
    FATUNE_TRY(to.outer_strides,
               counts(evaluation, from.outer_strides, gemm + keys.outer_strides, 0));
  }
  return plan;
}

void fields(GemmSpec& x, FieldList& f) {
  f.record("gemm", "A library's product C = alpha * A B, row-major; sizes are expressions");
  f.by_hand();
  f("library", x.library).required();
  for (std::size_t i = 0; i < kOperandKeys.size(); ++i) {
    GemmOperandSpec& operand = x.operands[i];
    const OperandKeys& keys = kOperandKeys[i];
    f(keys.buffer, operand.buffer).required().about("q, k, v, out or a scratch's name");
    f(keys.type, operand.type)
        .about("io (the problem's), f16, bf16, f32, or a parameter whose words are these");
    f(keys.pitch, operand.pitch).filled().about("Elements from row to row [dense]");
    f(keys.stride, operand.stride)
        .filled()
        .about("Elements from one matrix of the batch to the next [dense]");
    f(keys.outer_strides, operand.outer_strides);
    if (keys.transpose != nullptr) f(keys.transpose, operand.transpose);
  }
  for (const auto& [key, size] : {std::pair("m", &x.m), std::pair("n", &x.n), std::pair("k", &x.k)})
    f(key, *size).required();
  f("batch", x.batch);
  f("outer", x.outer).about("cutensor only: sizes of batches around the batch");
  f("alpha", x.alpha);
  f("algorithm", x.algorithm).about("Index into the library's list");
}

Status check_gemm(const GemmSpec& spec, const std::string& path, const Manifest& manifest,
                  const Checks& check, std::span<const std::string> buffers) {
  const std::string gemm = path + ".";
  for (std::size_t i = 0; i < kOperandKeys.size(); ++i)
    FATUNE_TRY_STATUS(
        check_operand(spec.operands[i], kOperandKeys[i], gemm, manifest, check, buffers));
  const std::pair<const char*, const std::string*> sizes[] = {
      {"m", &spec.m},         {"n", &spec.n},         {"k", &spec.k},
      {"batch", &spec.batch}, {"alpha", &spec.alpha}, {"algorithm", &spec.algorithm}};
  for (const auto& [key, text] : sizes) FATUNE_TRY_STATUS(check.text(gemm + key, *text));
  FATUNE_TRY_STATUS(check.texts(gemm + "outer", spec.outer));
  // cuBLAS takes one stride of the batch; cuTENSOR takes one stride for each outer size.
  if (!spec.outer.empty() && spec.library == GemmLibrary::kCublas)
    return check.error(gemm + "outer", "is for cutensor: cublas knows one batch, of one stride");
  for (std::size_t i = 0; i < kOperandKeys.size(); ++i) {
    const std::size_t strides = spec.operands[i].outer_strides.size();
    if (strides == spec.outer.size()) continue;
    return check.error(
        gemm + kOperandKeys[i].outer_strides,
        fmt::format("has {} strides for {} sizes of 'outer'", strides, spec.outer.size()));
  }
  return {};
}

}  // namespace fatune
