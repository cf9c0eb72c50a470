// option_table.cpp - registers rows with CLI11 and writes them back as words of a command.
#include "cli/options/option_table.hpp"

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "core/text.hpp"

namespace fatune::cli {
namespace {

bool is_argument(const OptionRow& row) { return row.flags[0] != '-'; }

struct Register {
  CLI::App& command;
  const OptionRow& row;

  CLI::Option* operator()(bool* value) const {
    return command.add_flag(row.flags, *value, row.help);
  }
  CLI::Option* operator()(int* value) const {
    return command.add_flag(row.flags, *value, row.help);
  }
  CLI::Option* operator()(std::string* value) const {
    CLI::Option* option = command.add_option(row.flags, *value, row.help);
    return value->empty() ? option : option->capture_default_str();
  }
  CLI::Option* operator()(std::vector<std::string>* values) const {
    CLI::Option* option = command.add_option(row.flags, *values, row.help);
    // One value a flag: what stands behind it is the command's argument.
    if (!is_argument(row)) option->allow_extra_args(false);
    if (row.separator != '\0') option->delimiter(row.separator);
    return values->empty() ? option : option->capture_default_str();
  }
  CLI::Option* operator()(std::optional<std::string>* value) const {
    const auto set = [value](const std::string& text) { *value = text; };
    return command.add_option_function<std::string>(row.flags, set, row.help)->expected(0, 1);
  }
};

/// What stands behind the flag, each time that it is typed; nothing behind a switch.
struct WordsBehind {
  using Words = std::vector<std::string>;

  Words operator()(const bool* value) const { return Words(*value ? 1 : 0); }
  Words operator()(const int* value) const { return Words(static_cast<std::size_t>(*value)); }
  Words operator()(const std::string* value) const { return {shell_word(*value)}; }
  Words operator()(const std::vector<std::string>* values) const {
    Words words;
    for (const std::string& value : *values) words.push_back(shell_word(value));
    return words;
  }
  Words operator()(const std::optional<std::string>* value) const {
    if (!*value) return {};
    return {(*value)->empty() ? "" : shell_word(**value)};
  }
};

std::string words(const OptionRow& row, const OptionRow& usual) {
  const auto typed = std::visit(WordsBehind(), row.value);
  const bool same = typed == std::visit(WordsBehind(), usual.value);
  if (row.repeat == Repeat::kNo || (row.repeat == Repeat::kChanged && same)) return "";
  std::string text;
  for (const std::string& word : typed)
    text += fmt::format(" {}{}{}", long_name(row), word.empty() ? "" : " ", word);
  return text;
}

}  // namespace

OptionTable tables(std::initializer_list<OptionTable> parts) {
  OptionTable all;
  for (const OptionTable& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

void add_options(CLI::App& command, const OptionTable& table) {
  for (const OptionGroup& group : table) {
    for (const OptionRow& row : group.rows) {
      CLI::Option* option = std::visit(Register{command, row}, row.value);
      option->group(group.title);
      if (!row.type.empty()) option->type_name(row.type);
      if (row.required) option->required();
    }
  }
  command.set_help_flag("-h,--help", "Print this help and exit")->group(table.back().title);
}

std::set<std::string> typed_options(const CLI::App& command) {
  std::set<std::string> typed;
  for (const CLI::Option* option : command.get_options()) {
    if (option->count() == 0) continue;
    for (const std::string& name : option->get_lnames()) typed.insert("--" + name);
  }
  return typed;
}

std::string long_name(const OptionRow& row) { return split(row.flags, ',').back(); }

std::string repeat_options(const OptionTable& typed, const OptionTable& usual) {
  std::string text;
  for (std::size_t group = 0; group < typed.size(); ++group) {
    for (std::size_t i = 0; i < typed[group].rows.size(); ++i)
      text += words(typed[group].rows[i], usual[group].rows[i]);
  }
  return text;
}

}  // namespace fatune::cli
