// baselines.hpp - lists of implementations as typed, to the contestants of each problem.
#pragma once

#include <string>
#include <vector>

#include "cli/options/settings.hpp"
#include "core/result.hpp"
#include "tune/evaluate/implementations.hpp"
#include "tune/sweep/finals.hpp"

namespace fatune::cli {

/// "naive,cudnn,torch:flash" to its names, each once; "none" to nothing. `option` is named in
/// errors.
Result<std::vector<std::string>> parse_implementations(const std::string& option,
                                                       const std::string& text);
/// Whether the reference kernel is among them.
bool names_reference(const std::vector<std::string>& impls, const KernelRef& reference);
/// Those of `impls` that are not the reference kernel, for each problem of a sweep. Names that mean
/// nothing are an error at once.
Result<MakeBaselines> make_baselines(const std::vector<std::string>& impls,
                                     const KernelRef& reference,
                                     const std::vector<KernelRef>& catalog,
                                     const Settings& settings);

}  // namespace fatune::cli
