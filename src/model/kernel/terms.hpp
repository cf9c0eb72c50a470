// terms.hpp - a manifest's terms, and where its parameters are choices; private.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/json.hpp"
#include "core/result.hpp"
#include "model/kernel/manifest.hpp"

namespace fatune {

/// Reads 'terms' into the manifest, whose parameters must be there by then.
Status parse_terms(const Fields& root, Manifest& manifest);

/// The text with the value of each term, in parentheses, where its name stands: over parameters and
/// fixed names only. What people see stays as written; what is evaluated is expanded first.
std::string expand_terms(const Manifest& manifest, std::string_view text);

/// Reads 'when' of a parameter: rules, or an expression as short for one rule that prunes.
Result<std::vector<Rule>> parse_when(const Fields& parameter);

/// Fails when a 'when' does not parse or names a parameter that is not listed before its own. The
/// manifest's parameters and terms must be there by then.
Status check_choices(const Manifest& manifest);

/// `rule`, of the parameter's 'when', as a constraint: "STAGGER == 0 || (PINGPONG == 1)".
std::string choice_text(const Parameter& parameter, const Rule& rule);

}  // namespace fatune
