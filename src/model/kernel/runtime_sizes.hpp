// runtime_sizes.hpp: Keeps run-time sizes out of machine code, and writes expressions over them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "model/kernel/expression.hpp"
#include "model/kernel/kernel.hpp"
#include "model/kernel/manifest.hpp"

namespace fatune {

/// Returns the names of the sizes that kernels of the operation take at run time.
std::vector<std::string> runtime_sizes(const Operation& operation);
/// Returns the run-time sizes of all kernels, each name once.
std::vector<std::string> runtime_sizes(const std::vector<KernelRef>& kernels);
/// Returns "run-time sizes: n, m" and a line break; empty without names.
std::string runtime_sizes_text(const std::vector<std::string>& names);
/// Returns the run-time sizes and the terms that depend on one: names that no macro has.
std::vector<std::string> runtime_names(const Manifest& manifest);
/// Tells whether the expression uses one of the names.
bool depends_on(std::string_view text, const std::vector<std::string>& names);
/// Returns why an expression that uses one of `names` cannot be written as C and Python: "has '%'".
/// Empty if it can, or if it uses none.
std::string runtime_fault(std::string_view text, const std::vector<std::string>& names);
/// Refuses run-time sizes in rules and in what machine code or a launch attribute fixes.
Status check_runtime_sizes(const Manifest& manifest);
/// Replaces all names but run-time sizes by values of `scope`: "ceil_div(n, 256)". Empty if the
/// expression depends on no run-time size.
Result<std::string> runtime_text(const Manifest& manifest, std::string_view text,
                                 const Scope& scope);

}  // namespace fatune
