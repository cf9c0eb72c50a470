// gemm.cpp - a matrix product's plan to words and fields.
#include "model/kernel/gemm.hpp"

#include <fmt/format.h>

#include "core/check.hpp"
#include "core/fields.hpp"
#include "core/text.hpp"

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

}  // namespace fatune
