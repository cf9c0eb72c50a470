// kernel_names.hpp - candidates to the names of their files and functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "model/problem/problem.hpp"

namespace fatune {

/// "fa_wgmma_b4_h8_q512_kv512_d64_f16_causal": a C identifier of lower-case letters and digits.
std::string export_name(std::string_view kernel, const Problem& problem);
/// Makes names that occur several times distinct: the second "a" becomes "a_2".
void make_distinct(std::vector<std::string>& names);
/// A name of the user's choice must be a C identifier; errors name the flag.
Status check_export_name(std::string_view name, std::string_view flag);

}  // namespace fatune
