// terms.hpp - a manifest's named terms, and texts with the terms' values in their place; private to
// space/.
#pragma once

#include <string>
#include <string_view>

#include "core/json.hpp"
#include "core/result.hpp"
#include "model/kernel/manifest.hpp"

namespace fatune {

/// Reads 'terms' into the manifest, whose parameters must be there by then.
Status parse_terms(const Fields& root, Manifest& manifest);

/// The text with the value of each term, in parentheses, where its name stands: over parameters and
/// fixed names only. What people see stays as written; what is evaluated is expanded first.
std::string expand_terms(const Manifest& manifest, std::string_view text);

}  // namespace fatune
