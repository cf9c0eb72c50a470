// quant.cpp: Converts the values of --quant to words and back.
#include <array>

#include <fmt/format.h>

#include "core/fields.hpp"
#include "model/problem/problem.hpp"

namespace fatune {

std::string_view name(Quant quant) {
  if (quant == Quant::kSmoothK) return "smooth_k";
  return quant == Quant::kFused ? "fused" : "given";
}

Result<Quant> parse_quant(std::string_view text) {
  if (text == "given") return Quant::kGiven;
  if (text == "fused") return Quant::kFused;
  if (text == "smooth_k") return Quant::kSmoothK;
  return usage_error(fmt::format("quant '{}' is unknown; known are given, fused, smooth_k", text));
}

FieldWord<Quant> word_of(const Quant*) {
  static constexpr std::array kAll = {Quant::kGiven, Quant::kFused, Quant::kSmoothK};
  return {parse_quant, kAll};
}

}  // namespace fatune
