// lint.hpp: Reports suspicious parts of a kernel without compiling it.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/kernel/kernel.hpp"

namespace fatune {

enum class Severity { kWarning, kError };
std::string_view name(Severity severity);  ///< "warning", "error"

struct LintFinding {
  Severity severity = Severity::kWarning;
  std::string where;    ///< "fa_mma/fa_mma.json: field 'parameters[2].name'"
  std::string message;  ///< the fault and its meaning
};

/// A problem on a typical device.
struct LintCase {
  Problem problem;
  DeviceLimits limits;
};
/// Reports each rule of a 'when' that was true, or false, for every config of every case.
std::vector<LintFinding> lint_choices(const Manifest& manifest, std::span<const LintCase> cases);

/// Reports each file that uses a run-time size, or a term that depends on one, without declaring
/// it.
std::vector<LintFinding> lint_runtime_sizes(const Kernel& kernel);

/// Returns what to change where the compiler does not know a run-time size, or where a macro
/// changes CUDA's headers; empty for other problems.
std::string compile_hint(const Manifest& manifest, std::string_view compile_problem);

/// Runs the static half of `fatune kernels lint`: text against manifest, then the spaces of
/// standard problems on typical devices of sm_80, sm_86, sm_90a and sm_120. Findings are in order
/// of detection; empty for a clean kernel.
std::vector<LintFinding> lint(const Kernel& kernel);

}  // namespace fatune
