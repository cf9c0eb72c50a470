// manifest_check.hpp: Declares the checks of a manifest's parts after its fields are read.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.hpp"
#include "core/result.hpp"
#include "model/kernel/manifest.hpp"

namespace fatune {

/// Names of kernels and operations, which are parts of file names.
inline constexpr const char* kIdentifier = "[a-z][a-z0-9_]*";
inline constexpr std::string_view kIdentifierNoun =
    "a name of lower-case letters, digits and _ only";
/// Names of what a template has: macros, tensors, scratch, tensor maps.
inline constexpr const char* kTemplateName = "[A-Za-z_][A-Za-z0-9_]*";
inline constexpr std::string_view kTemplateNoun = "a name of letters, digits and _ only";

/// Returns the index of a value of the parameter; none if it has no such value.
std::optional<std::size_t> position_of(const Json& value, const Parameter& parameter);
/// "is 96, which is not one of 32, 64, 128"
std::string not_a_value(const Json& value, const Parameter& parameter);

/// Fails if the text does not parse or uses a name that is not known.
Status check_expression(const std::string& text, const std::string& where,
                        std::span<const std::string> known);
Status check_rules(const std::vector<Rule>& rules, std::span<const std::string> known);
/// Sets `where` of the rules in a list; `list` is the list's place, "x.json: field 'constraints'".
void place_rules(std::vector<Rule>& rules, std::string_view list);
/// Returns why a parameter, term or size cannot have this name; empty if it can.
std::string macro_fault(const std::string& name, const Operation& operation);

/// The place of what is checked, and the names that its expressions can use.
struct Checks {
  std::string where;  ///< "naive.json", or "naive.json: field 'operation'"
  std::vector<std::string> known = {};

  /// "naive.json: field 'stages[0].grid' must ..."
  Error error(const std::string& path, const std::string& problem) const;
  Status text(const std::string& path, const std::string& text) const;
  Status texts(const std::string& path, const std::vector<std::string>& texts) const;
};

Status check_parameters(const Manifest& manifest);
/// Checks the terms and expands each, which can use the terms before it.
Status check_terms(Manifest& manifest);
/// Fails if a 'when' does not parse or names a parameter not listed before its own. The manifest
/// must already have its parameters and terms.
Status check_choices(const Manifest& manifest);
/// `buffers`: the possible operands; `path`: "stages[0].gemm".
Status check_gemm(const GemmSpec& spec, const std::string& path, const Manifest& manifest,
                  const Checks& check, std::span<const std::string> buffers);
/// Sets the operation from the manifest's JSON: an object declares it, a name chooses among
/// `operations`. The role decides which form is allowed.
Status set_operation(const Json& root, std::span<const OperationRef> operations,
                     Manifest& manifest);
/// Checks scratch, tensor maps and stages.
Status check_launch(const Json& root, const Manifest& manifest);

}  // namespace fatune
