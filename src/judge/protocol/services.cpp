// services.cpp: Finds tools and prompts by name and checks the arguments of prompts.
#include "judge/protocol/services.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/text.hpp"

namespace fatune {
namespace {

/// Finds a row of a table by name; the error message uses `noun`.
template <typename Row>
Result<const Row*> find_row(const std::vector<Row>& rows, const std::string& name,
                            const char* noun) {
  std::vector<std::string> names;
  for (const Row& row : rows) {
    if (row.name == name) return &row;
    names.push_back(row.name);
  }
  return usage_error(
      fmt::format("there is no {} '{}'{}", noun, excerpt(name),
                  nearest_hint(name, names, "; did you mean {}?",
                               fmt::format("; the {}s are {}", noun, join(names, ", ")))));
}

Result<PromptArguments> read_arguments(const Prompt& prompt, const Json& given) {
  PromptArguments arguments;
  if (!given.is_object()) return usage_error("field 'arguments' " + wrong_type("an object", given));
  for (const auto& [key, value] : given.items()) {
    const auto known = [&name = key](const PromptArgument& each) { return each.name == name; };
    if (std::ranges::none_of(prompt.arguments, known))
      return usage_error(
          fmt::format("the prompt {} has no argument '{}'", prompt.name, excerpt(key)));
    if (!value.is_string())
      return usage_error(fmt::format("argument '{}' {}", key, wrong_type("a string", value)));
    arguments[key] = value.get<std::string>();
  }
  for (const PromptArgument& each : prompt.arguments) {
    if (each.required && !arguments.contains(each.name))
      return usage_error(
          fmt::format("the prompt {} needs the argument '{}'", prompt.name, each.name));
  }
  return arguments;
}

}  // namespace

Json without_nulls(const Json& given) {
  if (!given.is_null() && !given.is_object()) return given;
  Json kept = Json::object();
  for (const auto& [key, value] : given.items()) {
    if (!value.is_null()) kept[key] = value;
  }
  return kept;
}

Result<const Tool*> find_tool(const Toolbox& tools, const std::string& name) {
  return find_row(tools, name, "tool");
}

Result<std::string> fill_prompt(const std::vector<Prompt>& prompts, const std::string& name,
                                const Json& arguments) {
  FATUNE_TRY(const Prompt* prompt, find_row(prompts, name, "prompt"));
  FATUNE_TRY(const PromptArguments given, read_arguments(*prompt, without_nulls(arguments)));
  return prompt->text(given);
}

}  // namespace fatune
