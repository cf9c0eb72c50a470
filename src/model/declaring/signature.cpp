// signature.cpp: Reads the __global__ functions and __constant__ variables of a CUDA text.
#include "model/declaring/signature.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "core/text.hpp"
#include "core/tokens.hpp"
#include "model/kernel/includes.hpp"
#include "model/wisdom/scalar.hpp"

namespace fatune {
namespace {

using Tokens = std::vector<std::string_view>;

/// Qualifiers that do not change what a parameter holds.
constexpr std::array<std::string_view, 7> kQualifiers = {
    "const", "volatile", "__restrict__", "__restrict", "restrict", "__grid_constant__", "typename"};
/// Types that scalars lack, and CUDA's names of vectors' elements.
struct OtherType {
  std::string_view spelling, name;
  std::size_t bytes;
};
constexpr OtherType kOtherTypes[] = {{"half", "f16", 2},
                                     {"__half", "f16", 2},
                                     {"nv_bfloat16", "bf16", 2},
                                     {"__nv_bfloat16", "bf16", 2},
                                     {"__nv_fp8_e4m3", "e4m3", 1},
                                     {"__nv_fp8_e5m2", "e5m2", 1},
                                     {"char", "i8", 1},
                                     {"uchar", "u8", 1},
                                     {"ushort", "u16", 2},
                                     {"uint", "u32", 4},
                                     {"longlong", "i64", 8},
                                     {"ulonglong", "u64", 8}};
constexpr std::array<std::string_view, 3> kEnds = {"[", ";", "="};  // of a variable's name

bool is_open(std::string_view token) { return token == "(" || token == "[" || token == "<"; }
bool is_closed(std::string_view token) { return token == ")" || token == "]" || token == ">"; }

/// Returns the index behind the bracket that closes the one at `open`.
std::size_t behind_bracket(const Tokens& tokens, std::size_t open) {
  const bool angles = tokens[open] == "<";  // elsewhere < compares
  int depth = 0;
  for (std::size_t at = open; at < tokens.size(); ++at) {
    const bool compares = !angles && (tokens[at] == "<" || tokens[at] == ">");
    depth += compares ? 0 : is_open(tokens[at]) ? 1 : is_closed(tokens[at]) ? -1 : 0;
    if (depth <= 0) return at + 1;
  }
  return tokens.size();
}

/// Splits the tokens between two brackets at commas.
std::vector<Tokens> listed(const Tokens& tokens, std::size_t open, std::size_t end) {
  std::vector<Tokens> parts;
  int depth = 0;
  for (std::size_t at = open + 1; at + 1 < end; ++at) {
    depth += is_open(tokens[at]) ? 1 : is_closed(tokens[at]) ? -1 : 0;
    if (parts.empty() || (tokens[at] == "," && depth == 0)) parts.emplace_back();
    if (tokens[at] != "," || depth > 0) parts.back().push_back(tokens[at]);
  }
  return parts;
}

FunctionParameter parameter_of(Tokens tokens) {
  FunctionParameter parameter;
  const auto bracket = std::ranges::find(tokens, "[");
  const auto star = std::ranges::find(tokens, "*");
  parameter.pointer = bracket != tokens.end() || star != tokens.end();
  parameter.written = parameter.pointer && std::find(tokens.begin(), star, "const") == star;
  tokens.erase(bracket, tokens.end());
  std::erase_if(tokens, [](std::string_view token) {
    return token == "*" || std::ranges::count(kQualifiers, token) > 0;
  });
  if (tokens.empty()) return parameter;
  parameter.name = tokens.back();
  tokens.pop_back();
  for (const std::string_view token : tokens)
    parameter.type +=
        (parameter.type.empty() || token == ":" || parameter.type.ends_with(':') ? "" : " ") +
        std::string(token);
  return parameter;
}

/// Returns the names of the template's parameters that ends before `at`; empty without one.
std::vector<std::string> template_before(const Tokens& tokens, std::size_t at) {
  for (std::size_t begin = at; begin-- > 0;) {
    if (tokens[begin] == ";" || tokens[begin] == "}" || tokens[begin] == "{") break;
    if (tokens[begin] != "template" || begin + 1 >= at) continue;
    std::vector<std::string> names;
    for (Tokens part : listed(tokens, begin + 1, behind_bracket(tokens, begin + 1))) {
      part.erase(std::ranges::find(part, "="), part.end());
      names.emplace_back(part.empty() ? std::string_view() : part.back());
    }
    return names;
  }
  return {};
}

/// Returns the text without comments.
std::string code_of(std::string_view text) { return join(code_lines(text), "\n"); }

}  // namespace

std::vector<GlobalFunction> global_functions(std::string_view text) {
  const std::string code = code_of(text);
  const Tokens tokens = tokens_of(code, Syntax::kPython);
  std::vector<GlobalFunction> functions;
  for (std::size_t at = 0; at < tokens.size(); ++at) {
    if (tokens[at] != "__global__") continue;
    std::size_t open = at + 1;
    const auto is_attribute = [](std::string_view token) {
      return token.starts_with("__") && token.ends_with("__");
    };
    while (open < tokens.size() && tokens[open] != ";" &&
           (tokens[open] != "(" || is_attribute(tokens[open - 1])))
      open = tokens[open] == "(" ? behind_bracket(tokens, open) : open + 1;
    if (open >= tokens.size() || tokens[open] != "(") continue;
    const std::size_t end = behind_bracket(tokens, open);
    if (end >= tokens.size() || tokens[end] != "{") continue;  // a prototype
    GlobalFunction function{std::string(tokens[open - 1]), {}, template_before(tokens, at)};
    for (Tokens& part : listed(tokens, open, end))
      function.parameters.push_back(parameter_of(std::move(part)));
    if (std::ranges::count(functions, function.name, &GlobalFunction::name) == 0)
      functions.push_back(std::move(function));
  }
  return functions;
}

std::string constant_type(std::string_view text, std::string_view symbol) {
  const std::string code = code_of(text);
  const Tokens tokens = tokens_of(code, Syntax::kPython);
  const std::string_view name = symbol.substr(symbol.rfind(':') + 1);
  for (auto begin = std::ranges::find(tokens, "__constant__"); begin != tokens.end();
       begin = std::find(begin + 1, tokens.end(), "__constant__")) {
    const auto end = std::find_first_of(begin, tokens.end(), kEnds.begin(), kEnds.end());
    if (end != begin && *(end - 1) == name) return parameter_of({begin + 1, end}).type;
  }
  return {};
}

std::vector<FunctionParameter> parameters_of(const GlobalFunction& function,
                                             std::string_view entry) {
  std::vector<FunctionParameter> parameters = function.parameters;
  const std::size_t open = entry.find('<');
  if (open == std::string_view::npos) return parameters;
  const std::vector<std::string> given =
      split(entry.substr(open + 1, entry.rfind('>') - open - 1), ',');
  for (FunctionParameter& parameter : parameters) {
    const auto found = std::ranges::find(function.template_names, parameter.type);
    const auto place = static_cast<std::size_t>(found - function.template_names.begin());
    if (place < given.size() && found != function.template_names.end())
      parameter.type = trim(given[place]);
  }
  return parameters;
}

std::optional<ElementType> element_type(std::string_view c_type) {
  if (c_type.starts_with("std::")) c_type.remove_prefix(5);
  if (c_type.ends_with(" int") && c_type != "unsigned int") c_type.remove_suffix(4);
  const auto* const other = std::ranges::find(kOtherTypes, c_type, &OtherType::spelling);
  if (other != std::end(kOtherTypes)) return ElementType{std::string(other->name), 1, other->bytes};
  const std::string of_zero = std::string(c_type) + " 0";
  if (const auto scalar = split_scalar(of_zero); scalar && scalar->value == "0")
    return ElementType{std::string(scalar->type->name), 1, scalar->type->bytes};
  const int count = c_type.empty() ? 0 : c_type.back() - '0';
  if (count < 2 || count > 4) return std::nullopt;
  auto single = element_type(c_type.substr(0, c_type.size() - 1));  // float of float4
  if (single) single->count = count;
  return single;
}

}  // namespace fatune
