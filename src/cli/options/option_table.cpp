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

/// The words of a value that differs from `usual`, or of any value if that is null.
struct Words {
  std::string flag;

  std::string word(const std::string& value) const {
    return fmt::format(" {} {}", flag, shell_word(value));
  }
  std::string operator()(bool* value, bool* usual) const {
    return usual != nullptr && *value == *usual ? "" : " " + flag;
  }
  std::string operator()(int* value, int* usual) const {
    return usual != nullptr && *value == *usual ? "" : " " + flag;
  }
  std::string operator()(std::string* value, std::string* usual) const {
    return usual != nullptr && *value == *usual ? "" : word(*value);
  }
  std::string operator()(std::vector<std::string>* values, std::vector<std::string>* usual) const {
    if (usual != nullptr && *values == *usual) return "";
    std::string text;
    for (const std::string& value : *values) text += word(value);
    return text;
  }
  std::string operator()(std::optional<std::string>* value,
                         std::optional<std::string>* usual) const {
    if (!*value || (usual != nullptr && *value == *usual)) return "";
    return (*value)->empty() ? " " + flag : word(**value);
  }
};

std::string words(const OptionRow& row, const OptionRow& usual) {
  if (row.repeat == Repeat::kNo) return "";
  return std::visit(
      [&](auto* value) {
        auto* standard = std::get<decltype(value)>(usual.value);
        return Words{long_name(row)}(value, row.repeat == Repeat::kAlways ? nullptr : standard);
      },
      row.value);
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
