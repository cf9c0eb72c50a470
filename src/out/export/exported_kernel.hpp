// exported_kernel.hpp - a candidate as every export format takes it: facts, machine code, source.
#pragma once

#include <string>

#include "model/wisdom/kernel_facts.hpp"

namespace fatune {

struct ExportedKernel {
  /// Stem of its files and a C identifier, unique in one export:
  /// "fa_wgmma_b4_h8_q512_kv512_d64_f16".
  std::string name;
  KernelFacts facts;
  std::string cubin;   ///< the machine code, whose size and SHA-256 the facts hold
  std::string source;  ///< one self-contained CUDA file
};

}  // namespace fatune
