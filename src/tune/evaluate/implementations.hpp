// implementations.hpp - names of kernels, libraries and programs to what is timed.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "model/problem/problem.hpp"
#include "tune/evaluate/evaluator.hpp"
#include "worker/protocol/implementation.hpp"

namespace fatune {

/// Every name that parse_outside_name knows, "external:NAME" for those described in the folders
/// and in the program itself.
std::vector<std::string> implementation_names(const OutsideOptions& options);

/// One of the role "baseline" for each name, in order. A name without a colon that is a
/// kernel's is that kernel with its default config; a kernel that cannot do the problem still gets
/// its row. A name that is neither is a usage error with those that exist.
Result<std::vector<Implementation>> baseline_implementations(const std::vector<std::string>& impls,
                                                             const Problem& problem,
                                                             const std::vector<KernelRef>& kernels,
                                                             const OutsideOptions& options);

/// A usage error when a name means nothing or computes something else than `operation`, before
/// anything is measured; a faulty description of an external program is one, too.
Status check_implementations(const std::vector<std::string>& impls,
                             const std::vector<KernelRef>& kernels, const OutsideOptions& options,
                             std::string_view operation = "attention");

}  // namespace fatune
