// export_kernel.hpp: Turns a saved config into facts, machine code and source for export.
#pragma once

#include <string>
#include <vector>

#include "core/result.hpp"
#include "export/exported_kernel.hpp"
#include "model/kernel/candidate.hpp"
#include "model/wisdom/kernel_facts.hpp"
#include "tune/compile/pool.hpp"
#include "tune/sweep/best.hpp"

namespace fatune {

/// Returns kernel, config, problem, architecture, tensors, scale and launches; the caller adds id,
/// machine code and origin. A stage of a library is a usage error.
Result<KernelFacts> facts_of(const Candidate& candidate, const DeviceLimits& limits);

/// Treatment of a kernel whose machine code has passed no gate.
enum class Unverified { kRefuse, kMark };

struct ExportRequest {
  std::string name;  ///< see ExportedKernel
  Candidate candidate;
  DeviceLimits limits;  ///< limits of the target device
  const BestFile* saved = nullptr;
  const BestProblem* winner = nullptr;  ///< problem of `saved` with the candidate's config
  Unverified unverified = Unverified::kRefuse;
  std::string fatune;  ///< version of fatune for the facts
};

/// Compiles the candidate and describes its launch. Usage errors: a config that the device or the
/// kernel cannot take, a library stage, and unverified machine code unless it is marked.
Result<ExportedKernel> export_kernel(const ExportRequest& request, CompilePool& pool);

/// Joins a template, its headers and a config into one self-contained CUDA file. `macros`
/// ("BLOCK_M=128") become definitions at the top. Project headers replace their includes, headers
/// with #pragma once only at the first include. Includes of toolkit headers stay. A header without
/// #pragma once that includes itself is a file error.
Result<std::string> flatten(const Kernel& kernel, const std::vector<std::string>& macros);

/// Returns the reasons why this machine code is not the measured one, as clauses; empty if it is.
std::vector<std::string> changes_since(const ExportRequest& request,
                                       const std::string& compiler_version,
                                       const std::string& compiler_identity);

}  // namespace fatune
