// vocabulary.hpp - the names manifests and templates share, and their values for a problem.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/kernel/expression.hpp"
#include "model/kernel/limits.hpp"
#include "model/kernel/manifest.hpp"
#include "model/problem/problem.hpp"

namespace fatune {

/// "REDUCE" and "warp" give "REDUCE_WARP".
std::string word_constant(std::string_view parameter, std::string_view word);
/// A name that fatune defines itself, hence none for a parameter or a word's constant of a kernel
/// that computes the operation.
bool is_reserved_name(std::string_view name, const Operation& operation);
/// What expressions can use besides parameters: problem, element types, device.
std::vector<std::string> fixed_names(const Operation& operation);
/// What an operation's own expressions can use: its sizes and the element type.
std::vector<std::string> problem_names(const Operation& operation);
/// All that expressions of this manifest can use.
std::vector<std::string> expression_names(const Manifest& manifest);
/// The values of fixed_names().
Scope fixed_scope(const Problem& problem, const DeviceLimits& limits);
/// The values of fixed_names() and of the words' constants: all that does not depend on a config.
Scope config_free_scope(const Manifest& manifest, const Problem& problem,
                        const DeviceLimits& limits);
/// 1/sqrt(head_dim), as a float.
float softmax_scale(const Problem& problem);

}  // namespace fatune
