// manifest_gemm.cpp - a stage's matrix product in a manifest to a GemmSpec, checked.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "core/text.hpp"
#include "model/kernel/manifest_parse.hpp"
#include "model/kernel/vocabulary.hpp"

namespace fatune {
namespace {

constexpr std::string_view kSameAsProblem = "io";
const std::array<std::string, 4> kTypeWords = {"io", "f16", "bf16", "f32"};
const std::array<std::string, 1> kLibraryWords = {"cublas"};  // as in GemmLibrary

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
  FATUNE_TRY(spec.buffer, fields.text(operand));
  if (std::find(buffers.begin(), buffers.end(), spec.buffer) == buffers.end()) {
    return fields.error(
        operand, fmt::format("is '{}', which is not one of {}", spec.buffer, join(buffers, ", ")));
  }
  FATUNE_TRY(spec.type, fields.text_or(operand + "_type", spec.type));
  FATUNE_TRY_STATUS(check_type(fields, operand + "_type", spec.type, manifest));
  FATUNE_TRY_STATUS(optional_expression(fields, "pitch_" + operand, spec.pitch, known));
  FATUNE_TRY_STATUS(optional_expression(fields, "stride_" + operand, spec.stride, known));
  FATUNE_TRY(spec.transpose, fields.boolean_or("transpose_" + operand, false));
  return spec;
}

}  // namespace

Result<GemmSpec> parse_gemm(const Fields& fields, const Manifest& manifest,
                            std::span<const std::string> buffers,
                            std::span<const std::string> known) {
  FATUNE_TRY_STATUS(fields.only(
      {"library",     "a",       "b",       "c",        "a_type",   "b_type",   "c_type",
       "pitch_a",     "pitch_b", "pitch_c", "stride_a", "stride_b", "stride_c", "transpose_a",
       "transpose_b", "m",       "n",       "k",        "batch",    "alpha",    "algorithm"}));
  GemmSpec spec;
  FATUNE_TRY(const std::string library, fields.text("library"));
  const auto found = std::find(kLibraryWords.begin(), kLibraryWords.end(), library);
  if (found == kLibraryWords.end()) {
    return fields.error("library", fmt::format("is '{}', which is not one of {}", library,
                                               join(kLibraryWords, ", ")));
  }
  spec.library = static_cast<GemmLibrary>(found - kLibraryWords.begin());
  for (std::size_t i = 0; i < kGemmOperands.size(); ++i) {
    FATUNE_TRY(spec.operands[i],
               parse_operand(fields, std::string(kGemmOperands[i]), buffers, manifest, known));
  }
  FATUNE_TRY_STATUS(fields.require({"m", "n", "k"}));
  FATUNE_TRY_STATUS(optional_expression(fields, "m", spec.m, known));
  FATUNE_TRY_STATUS(optional_expression(fields, "n", spec.n, known));
  FATUNE_TRY_STATUS(optional_expression(fields, "k", spec.k, known));
  FATUNE_TRY_STATUS(optional_expression(fields, "batch", spec.batch, known));
  FATUNE_TRY_STATUS(optional_expression(fields, "alpha", spec.alpha, known));
  FATUNE_TRY_STATUS(optional_expression(fields, "algorithm", spec.algorithm, known));
  return spec;
}

}  // namespace fatune
