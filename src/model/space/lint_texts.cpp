// lint_texts.cpp: Collects the expressions of launches and of library products.
#include "model/space/lint_texts.hpp"

#include "model/wisdom/scalar.hpp"

namespace fatune {

std::vector<std::string> launch_texts(const Manifest& manifest) {
  std::vector<std::string> texts;
  for (const StageSpec& stage : manifest.stages) {
    for (const auto* extent : {&stage.grid, &stage.block, &stage.cluster}) {
      texts.insert(texts.end(), extent->begin(), extent->end());
    }
    texts.push_back(stage.shared_bytes);
    texts.push_back(stage.dependent);
    for (const std::string& argument : stage.arguments) {
      if (is_scalar(argument)) texts.push_back(argument);
    }
  }
  for (const TensorMapSpec& map : manifest.tensor_maps) {
    texts.insert(texts.end(), map.sizes.begin(), map.sizes.end());
    texts.insert(texts.end(), map.box.begin(), map.box.end());
    texts.push_back(map.swizzle);
  }
  return texts;
}

std::vector<std::string> gemm_texts(const Manifest& manifest) {
  std::vector<std::string> texts;
  for (const StageSpec& stage : manifest.stages) {
    if (!stage.gemm) continue;
    const GemmSpec& gemm = *stage.gemm;
    texts.insert(texts.end(), {gemm.m, gemm.n, gemm.k, gemm.batch, gemm.alpha, gemm.algorithm});
    texts.insert(texts.end(), gemm.outer.begin(), gemm.outer.end());
    for (const GemmOperandSpec& operand : gemm.operands) {
      texts.insert(texts.end(), {operand.type, operand.pitch, operand.stride});
      texts.insert(texts.end(), operand.outer_strides.begin(), operand.outer_strides.end());
    }
  }
  return texts;
}

}  // namespace fatune
