// choices.hpp - where a conditional parameter is a choice: its 'when', parsed and checked; private
// to space/.
#pragma once

#include <string>
#include <vector>

#include "core/json.hpp"
#include "core/result.hpp"
#include "model/kernel/manifest.hpp"

namespace fatune {

/// Reads 'when' of a parameter: rules, or an expression as short for one rule that prunes.
Result<std::vector<Rule>> parse_when(const Fields& parameter);

/// Fails when a 'when' does not parse or names a parameter that is not listed before its own. The
/// manifest's parameters and terms must be there by then.
Status check_choices(const Manifest& manifest);

/// `rule`, of the parameter's 'when', as a constraint: "STAGGER == 0 || (PINGPONG == 1)".
std::string choice_text(const Parameter& parameter, const Rule& rule);

}  // namespace fatune
