// exported_kernel_fixture.hpp: Makes an exported kernel with machine code that cannot run.
#pragma once

#include <string>

#include "core/hash.hpp"
#include "export/exported_kernel.hpp"

namespace fatune::test {

/// A kernel of one launch, whose arguments the test adds; its command has text to be escaped.
inline ExportedKernel exported_kernel(const std::string& entry, const Problem& problem) {
  ExportedKernel made;
  made.name = entry;
  made.cubin = "machine code of " + entry;
  KernelFacts& facts = made.facts;
  facts.id = "id of " + entry;
  facts.kernel = "fa_" + entry;
  facts.config = "{}";
  facts.problem = problem;
  facts.arch = "sm_90a";
  facts.compute_major = 9;
  facts.exact_compute = true;
  facts.cubin = {entry + ".cubin", sha256_hex(made.cubin),
                 static_cast<std::int64_t>(made.cubin.size())};
  facts.stages = {{entry, {2, 4, 8}, {256, 1, 1}, {1, 1, 1}, 0, 0, false, {}}};
  facts.scale = 0.125;
  facts.verified = true;
  facts.device_name = "NVIDIA H200";
  facts.fatune = "1.2.3";
  facts.command = "fatune sweep --shape \"\"\"'\\";
  return made;
}

}  // namespace fatune::test
