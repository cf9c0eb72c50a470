// manifest_parse.hpp - the parts of a manifest's JSON, each to its values; private to space/.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.hpp"
#include "core/result.hpp"
#include "model/kernel/manifest.hpp"

namespace fatune {

/// "naive.json: field 'stages[0].grid'": what goes in front of errors about a field.
std::string place(const Fields& fields, std::string_view key);
/// A text that must not be empty.
Result<std::string> parse_words(const Fields& fields, std::string_view key);
/// One of the names; `fallback` when there is no such field, which is an error where that is null.
Result<std::string> parse_one_of(const Fields& fields, std::string_view key, const char* fallback,
                                 std::span<const std::string> names);
/// A lower-case identifier: names of kernels, scratch buffers, tensor maps.
Result<std::string> parse_identifier(const Fields& fields, std::string_view key);
/// Under 'name', a macro's name that fatune does not define itself: of a parameter, a term or a
/// size.
Result<std::string> parse_macro_name(const Fields& fields, const Operation& operation);
/// Fails when the text does not parse or uses a name that is not known.
Status check_expression(const std::string& text, const std::string& where,
                        std::span<const std::string> known);

Result<std::vector<Rule>> parse_rules(const Fields& fields, std::string_view key);
Status check_rules(const std::vector<Rule>& rules, std::span<const std::string> known);
/// Reads what a fixture's values declare where `values` of the parameter are objects. `values`
/// becomes the plain values.
Result<std::vector<Fault>> take_faults(const Fields& parameter, Json& values);
/// Adds a constraint for each fault that shows at some problems only.
Status add_fault_rules(const Fields& root, Manifest& manifest);
Result<std::vector<Parameter>> parse_parameters(const Fields& root, const Operation& operation);
/// `buffers`: what an operand can be.
Result<GemmSpec> parse_gemm(const Fields& fields, const Manifest& manifest,
                            std::span<const std::string> buffers,
                            std::span<const std::string> known);
/// Reads 'operation': an object declares one, a name chooses among `operations`. Goes with the
/// role.
Status parse_operation_field(const Fields& root, std::span<const OperationRef> operations,
                             Manifest& manifest);
/// Reads scratch, tensor_maps and stages; the parameters must be in the manifest by then.
Status parse_launch(const Fields& root, Manifest& manifest);

}  // namespace fatune
