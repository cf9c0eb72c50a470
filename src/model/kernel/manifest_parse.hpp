// manifest_parse.hpp: Declares the parsers of the parts of a manifest's JSON.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.hpp"
#include "core/result.hpp"
#include "model/kernel/manifest.hpp"

namespace fatune {

/// Prefix of errors about a field: "naive.json: field 'stages[0].grid'".
std::string place(const Fields& fields, std::string_view key);
/// Reads a text that must not be empty.
Result<std::string> parse_words(const Fields& fields, std::string_view key);
/// Reads one of the names; `fallback` replaces a missing field. Without a fallback, a missing field
/// is an error.
Result<std::string> parse_one_of(const Fields& fields, std::string_view key, const char* fallback,
                                 std::span<const std::string> names);
/// Reads a lower-case identifier: a name of a kernel, scratch buffer or tensor map.
Result<std::string> parse_identifier(const Fields& fields, std::string_view key);
/// Reads the macro name of a parameter, term or size under 'name'; fatune must not define this name
/// itself.
Result<std::string> parse_macro_name(const Fields& fields, const Operation& operation);
/// Fails if the text does not parse or uses an unknown name.
Status check_expression(const std::string& text, const std::string& where,
                        std::span<const std::string> known);

Result<std::vector<Rule>> parse_rules(const Fields& fields, std::string_view key);
Status check_rules(const std::vector<Rule>& rules, std::span<const std::string> known);
/// Reads the faults of a fixture's parameter whose `values` are objects. `values` becomes the plain
/// values.
Result<std::vector<Fault>> take_faults(const Fields& parameter, Json& values);
/// Adds a constraint for each fault that only some problems show.
Status add_fault_rules(const Fields& root, Manifest& manifest);
Result<std::vector<Parameter>> parse_parameters(const Fields& root, const Operation& operation);
/// `buffers`: the possible operands.
Result<GemmSpec> parse_gemm(const Fields& fields, const Manifest& manifest,
                            std::span<const std::string> buffers,
                            std::span<const std::string> known);
/// Reads 'operation': an object declares one, a name chooses among `operations`. The role decides
/// which form is allowed.
Status parse_operation_field(const Fields& root, std::span<const OperationRef> operations,
                             Manifest& manifest);
/// Reads scratch, tensor_maps and stages; the manifest must already have its parameters.
Status parse_launch(const Fields& root, Manifest& manifest);

}  // namespace fatune
