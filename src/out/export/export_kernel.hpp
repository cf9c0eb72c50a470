// export_kernel.hpp - a saved config to facts, machine code and source, when it still is what was
// verified.
#pragma once

#include <string>
#include <vector>

#include "core/result.hpp"
#include "model/kernel/candidate.hpp"
#include "model/wisdom/kernel_facts.hpp"
#include "out/export/exported_kernel.hpp"
#include "tune/compile/pool.hpp"
#include "tune/sweep/best.hpp"

namespace fatune {

/// Kernel, config, problem, architecture, tensors or scale, and launches; id, machine code and
/// origin are left to the caller. A kernel with a library's product among its stages is a usage
/// error.
Result<KernelFacts> facts_of(const Candidate& candidate, const DeviceLimits& limits);

/// What becomes of a kernel whose machine code has passed no gate.
enum class Unverified { kRefuse, kMark };

struct ExportRequest {
  std::string name;  ///< see ExportedKernel
  Candidate candidate;
  DeviceLimits limits;  ///< of the device that it is exported for
  const BestFile* saved = nullptr;
  const BestProblem* winner = nullptr;  ///< one of `saved`; its best is the candidate's config
  Unverified unverified = Unverified::kRefuse;
  std::string fatune;  ///< version, for the facts
};

/// Compiles the candidate and describes its launch. A config that the device or the kernel cannot
/// take, a library stage, and machine code that is not verified (unless marked) are usage errors.
Result<ExportedKernel> export_kernel(const ExportRequest& request, CompilePool& pool);

/// A template, its headers and a config as one CUDA file that compiles by itself: `macros`
/// ("BLOCK_M=128") become definitions at the top; project headers stand where they are included,
/// those with #pragma once the first time only. Headers of the toolkit stay includes. A header that
/// includes itself without #pragma once is a file error.
Result<std::string> flatten(const Kernel& kernel, const std::vector<std::string>& macros);

/// Why this machine code is not what the file says was measured, as clauses; empty when it is.
std::vector<std::string> changes_since(const ExportRequest& request,
                                       const std::string& compiler_version,
                                       const std::string& compiler_identity);

}  // namespace fatune
