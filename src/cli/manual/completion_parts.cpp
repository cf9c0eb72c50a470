// completion_parts.cpp - walks a program's commands; quotes text for shells.
#include "cli/manual/completion_parts.hpp"

#include <algorithm>
#include <cctype>

namespace fatune {
namespace {

void add_types(const CommandDoc& command, std::vector<std::string>& types) {
  for (const OptionDoc& option : command.options) {
    const bool known = std::find(types.begin(), types.end(), option.value) != types.end();
    if (!option.value.empty() && !known) types.push_back(option.value);
  }
  for (const CommandDoc& each : command.commands) add_types(each, types);
}

void add_paths(const CommandDoc& above, const std::vector<std::string>& names,
               std::vector<CommandPath>& paths) {
  for (const CommandDoc& each : above.commands) {
    std::vector<std::string> own = names;
    own.push_back(each.name);
    paths.push_back({own, &each});
    add_paths(each, own, paths);
  }
}

}  // namespace

std::vector<std::string> value_types(const CommandDoc& program) {
  std::vector<std::string> types;
  add_types(program, types);
  return types;
}

std::string identifier(std::string_view type) {
  std::string name;
  for (const char c : type) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0;
    if (plain) name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    if (!plain && !name.ends_with('_')) name += '_';
  }
  return name;
}

std::string single_quoted(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string first_line(std::string_view text) {
  std::string line(text.substr(0, text.find('\n')));
  if (line.ends_with(':')) line.pop_back();
  return line;
}

std::vector<CommandPath> command_paths(const CommandDoc& program) {
  std::vector<CommandPath> paths;
  add_paths(program, {}, paths);
  return paths;
}

}  // namespace fatune
