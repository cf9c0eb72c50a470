// fish_completions.cpp - a `complete` line an option, and a function a type of value.
#include "cli/manual/completion_parts.hpp"
#include "cli/manual/completions.hpp"
#include "core/text.hpp"

namespace fatune {
namespace {

/// 'text', in which fish wants backslashes and quotes escaped.
std::string fish_quoted(std::string_view text) {
  std::string result = "'";
  for (const char c : text) {
    if (c == '\\' || c == '\'') result += '\\';
    result += c;
  }
  return result + "'";
}

std::string function_of(const CommandDoc& program, const std::string& type) {
  return "__" + program.name + "_value_" + identifier(type);
}

std::string_view path_call(Paths paths) {
  switch (paths) {
    case Paths::kNone:
    case Paths::kFiles:  // fish's own completion of files, unless -f forbids it
      return "";
    case Paths::kFolders:
      return "__fish_complete_directories (commandline -ct)";
    case Paths::kPrograms:
      return "__fish_complete_command";
  }
  return "";
}

std::string value_function(const CommandDoc& program, const std::string& type,
                           const Values& values) {
  std::string text;
  for (const Word& word : values.words)
    text += "    printf '%s\\t%s\\n' " + fish_quoted(word.text) + " " +
            fish_quoted(first_line(word.meaning)) + "\n";
  if (const auto call = path_call(values.paths); !call.empty())
    text += "    " + std::string(call) + "\n";
  if (text.empty()) return "";
  return "function " + function_of(program, type) + "\n" + text + "end\n";
}

/// The words of a value, and whether files are offered beside them.
std::string value_flags(const CommandDoc& program, const std::string& type, const Values& values) {
  const std::string files = values.paths == Paths::kFiles ? " -F" : " -f";
  if (values.words.empty() && path_call(values.paths).empty()) return files;
  const std::string function = function_of(program, type);
  const std::string call = values.list ? "__fish_complete_list , " + function : function;
  return files + " -a " + fish_quoted("(" + call + ")");
}

std::string flag_part(const std::string& flag) {
  return flag.starts_with("--") ? " -l " + flag.substr(2) : " -s " + flag.substr(1);
}

std::string option_line(const CommandDoc& program, const std::string& condition,
                        const OptionDoc& option, const ValueWords& words) {
  std::string line = "complete -c " + program.name + condition;
  for (const std::string& flag : option.flags) line += flag_part(flag);
  if (!option.value.empty()) {
    if (!option.flags.empty()) line += " -r";
    line += value_flags(program, option.value, words.of(option.value));
  }
  return line + " -d " + fish_quoted(first_line(option.description)) + "\n";
}

/// Where the command stands, and none of those below it.
std::string condition_of(const CommandPath& path) {
  std::vector<std::string> parts;
  for (const std::string& name : path.names) parts.push_back("__fish_seen_subcommand_from " + name);
  return " -n " + fish_quoted(join(parts, "; and "));
}

std::string command_lines(const CommandDoc& program, const std::string& condition,
                          const CommandDoc& command, const ValueWords& words) {
  std::string text;
  for (const CommandDoc& each : command.commands)
    text += "complete -c " + program.name + condition + " -a " + each.name + " -d " +
            fish_quoted(each.summary) + "\n";
  for (const OptionDoc& option : command.options)
    text += option_line(program, condition, option, words);
  return text;
}

}  // namespace

std::string fish_completions(const CommandDoc& program, const ValueWords& words) {
  std::string text = "# Completes " + program.name + " in fish; written by `" + program.name +
                     " completions fish`.\n";
  for (const std::string& type : value_types(program))
    text += value_function(program, type, words.of(type));
  text += "complete -c " + program.name + " -f\n" +
          command_lines(program, " -n __fish_use_subcommand", program, words);
  for (const CommandPath& path : command_paths(program))
    text += command_lines(program, condition_of(path), *path.command, words);
  return text;
}

}  // namespace fatune
