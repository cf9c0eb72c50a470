// zsh_completions.cpp - an _arguments call a command, and a function a type of value.
#include "cli/manual/completion_parts.hpp"
#include "cli/manual/completions.hpp"
#include "core/text.hpp"

namespace fatune {
namespace {

/// A backslash before each of `special`.
std::string escaped(std::string_view text, std::string_view special) {
  std::string result;
  for (const char c : text) {
    if (special.find(c) != std::string_view::npos) result += '\\';
    result += c;
  }
  return result;
}

std::string function_of(const CommandDoc& program, const std::string& type) {
  return "_" + program.name + "_value_" + identifier(type);
}

std::string_view path_action(Paths paths) {
  switch (paths) {
    case Paths::kNone:
      return "";
    case Paths::kFiles:
      return "_files";
    case Paths::kFolders:
      return "_files -/";
    case Paths::kPrograms:
      return "_command_names -e";
  }
  return "";
}

/// What the words are called above the list, and the words with their meanings.
std::string values_call(const std::string& type, const Values& values) {
  std::string call = "_values" + std::string(values.list ? " -s ," : "") + " " +
                     single_quoted(escaped(type, "[]:"));
  for (const Word& word : values.words) {
    const std::string meaning =
        word.meaning.empty() ? "" : "[" + escaped(first_line(word.meaning), "[]:") + "]";
    call += " \\\n    " + single_quoted(escaped(word.text, "[]:") + meaning);
  }
  return call;
}

std::string value_function(const CommandDoc& program, const std::string& type,
                           const Values& values) {
  const std::string paths(path_action(values.paths));
  std::string body = "_message -e value " + single_quoted(type);
  if (!values.words.empty()) body = values_call(type, values);
  if (values.words.empty() && !paths.empty()) body = paths;
  std::string text = function_of(program, type) + "() {\n  " + body + "\n";
  if (!values.words.empty() && !paths.empty()) text += "  " + paths + "\n";
  return text + "}\n\n";
}

std::string value_part(const CommandDoc& program, const std::string& name,
                       const std::string& type) {
  return ":" + escaped(name, "[]:") + ":" + function_of(program, type);
}

/// '(-q --quiet)'{-q,--quiet}'[meaning]:NAME:function'.
std::string option_spec(const CommandDoc& program, const OptionDoc& option) {
  if (option.flags.empty()) {
    const std::string place = option.repeatable ? "*" : "1";
    return single_quoted(place + value_part(program, option.argument, option.value));
  }
  std::string tail = "[" + escaped(first_line(option.description), "[]:") + "]";
  if (!option.value.empty()) tail += value_part(program, option.value, option.value);
  if (option.repeatable) {
    std::vector<std::string> starred;
    for (const std::string& flag : option.flags)
      starred.push_back(single_quoted("*" + flag + tail));
    return join(starred, " ");
  }
  if (option.flags.size() == 1) return single_quoted(option.flags.front() + tail);
  return single_quoted("(" + join(option.flags, " ") + ")") + "{" + join(option.flags, ",") + "}" +
         single_quoted(tail);
}

std::string function_name(const CommandDoc& program, const std::vector<std::string>& path) {
  std::string name = "_" + program.name;
  for (const std::string& part : path) name += "_command_" + identifier(part);
  return name;
}

/// A command with others below it chooses among them by its first word.
std::string command_function(const CommandDoc& program, const std::vector<std::string>& path,
                             const CommandDoc& command) {
  const std::string name = function_name(program, path);
  std::string specs;
  for (const OptionDoc& option : command.options)
    specs += " \\\n    " + option_spec(program, option);
  if (command.commands.empty()) return name + "() {\n  _arguments -s" + specs + "\n}\n\n";
  std::string text = name + "() {\n  local curcontext=$curcontext state\n  local -a commands=(";
  for (const CommandDoc& each : command.commands)
    text += "\n    " + single_quoted(each.name + ":" + escaped(each.summary, ":"));
  text += ")\n  _arguments -C -s" + specs +
          " \\\n    '1: :->command' \\\n    '*:: :->rest'\n  case $state in\n"
          "    command) _describe -t commands command commands ;;\n    rest)\n"
          "      case $words[1] in\n";
  for (const CommandDoc& each : command.commands) {
    std::vector<std::string> below = path;
    below.push_back(each.name);
    text += "        " + each.name + ") " + function_name(program, below) + " ;;\n";
  }
  return text + "      esac ;;\n  esac\n}\n\n";
}

}  // namespace

std::string zsh_completions(const CommandDoc& program, const ValueWords& words) {
  std::string text = "#compdef " + program.name + "\n# Completes " + program.name +
                     " in zsh; written by `" + program.name + " completions zsh`.\n\n";
  for (const std::string& type : value_types(program))
    text += value_function(program, type, words.of(type));
  for (const CommandPath& path : command_paths(program))
    text += command_function(program, path.names, *path.command);
  text += command_function(program, {}, program);
  const std::string function = "_" + program.name;
  return text + "if [[ $funcstack[1] == " + function + " ]]; then\n  " + function +
         " \"$@\"\nelse\n  compdef " + function + " " + program.name + "\nfi\n";
}

}  // namespace fatune
