// bash_completions.cpp - one function that finds the command, then the option, then the words.
#include "cli/manual/completion_parts.hpp"
#include "cli/manual/completions.hpp"
#include "core/text.hpp"

namespace fatune {
namespace {

/// What is typed is taken from the line itself: bash breaks words at colons and equals signs, and
/// its COMP_WORDS are those pieces.
constexpr const char* kBegin = R"(@() {
  local line=${COMP_LINE:0:COMP_POINT} command='' option='' head='' current word
  local names='' words='' list='' paths='' takes_value=''
  local -a typed=()
  COMPREPLY=()
  read -ra typed <<<"$line"
  [[ $line == *[[:space:]] ]] && typed+=('')
  ((${#typed[@]} > 1)) || return 0
  current=${typed[-1]}
  option=${typed[-2]}
  if [[ $current == --*=* ]]; then
    option=${current%%=*}
    head=$option=
  fi
  for word in "${typed[@]:1:${#typed[@]}-2}"; do
    case "$command/$word" in
)";

constexpr const char* kEnd = R"(  esac
  if [[ $takes_value ]]; then
    names=''
  elif [[ $current == -* ]]; then
    words='' paths='' list=''
  elif [[ $words || $paths ]]; then
    names=''
  fi
  [[ $list && $current == *,* ]] && head=${current%,*},
  for word in $words; do
    [[ $head$word == "$current"* ]] && COMPREPLY+=("$head$word")
  done
  for word in $names; do
    [[ $word == "$current"* ]] && COMPREPLY+=("$word")
  done
  if [[ $paths ]]; then
    compopt -o filenames 2>/dev/null
    while IFS= read -r word; do
      COMPREPLY+=("$head$word")
    done < <(word=${current#"$head"}; compgen "$paths" -- "${word/#\~/$HOME}")
  fi
  local breaks=${COMP_WORDBREAKS//[^:=]/}
  if [[ $breaks && $current == *[$breaks]* ]]; then
    COMPREPLY=("${COMPREPLY[@]#"${current%"${current##*["$breaks"]}"}"}")
  fi
}
complete -F @ )";

std::string replace_at(std::string text, const std::string& name) {
  for (std::size_t at = text.find('@'); at != std::string::npos; at = text.find('@', at)) {
    // "[@]" is bash's own.
    if (at > 0 && text[at - 1] == '[') {
      ++at;
      continue;
    }
    text.replace(at, 1, name);
  }
  return text;
}

std::string_view compgen_flag(Paths paths) {
  switch (paths) {
    case Paths::kNone:
      return "";
    case Paths::kFiles:
      return "-f";
    case Paths::kFolders:
      return "-d";
    case Paths::kPrograms:
      return "-c";
  }
  return "";
}

/// "words='a b' list=1 paths=-f"; empty for a value without words.
std::string assignments(const Values& values) {
  std::vector<std::string> texts, parts;
  for (const Word& word : values.words) texts.push_back(word.text);
  if (!texts.empty()) parts.push_back("words=" + single_quoted(join(texts, " ")));
  if (values.list) parts.push_back("list=1");
  if (values.paths != Paths::kNone)
    parts.push_back("paths=" + std::string(compgen_flag(values.paths)));
  return join(parts, " ");
}

/// What an option's value can be, and, where no option is in front, an argument's.
std::string value_cases(const CommandDoc& command, const ValueWords& words) {
  std::string cases, argument;
  for (const OptionDoc& option : command.options) {
    if (option.value.empty()) continue;
    const std::string set = assignments(words.of(option.value));
    if (option.flags.empty()) {
      if (argument.empty()) argument = set;
      continue;
    }
    cases += "        " + join(option.flags, " | ") + ") takes_value=1" +
             (set.empty() ? "" : " " + set) + " ;;\n";
  }
  if (!argument.empty()) cases += "        *) " + argument + " ;;\n";
  return cases.empty() ? "" : "      case $option in\n" + cases + "      esac\n";
}

std::string command_case(const std::vector<std::string>& path, const CommandDoc& command,
                         const ValueWords& words) {
  std::vector<std::string> names;
  for (const CommandDoc& each : command.commands) names.push_back(each.name);
  for (const OptionDoc& option : command.options)
    names.insert(names.end(), option.flags.begin(), option.flags.end());
  return "    " + single_quoted(join(path, " ")) +
         ")\n      names=" + single_quoted(join(names, " ")) + "\n" + value_cases(command, words) +
         "      ;;\n";
}

}  // namespace

std::string bash_completions(const CommandDoc& program, const ValueWords& words) {
  const std::string function = "_" + program.name;
  std::string text = "# Completes " + program.name + " in bash; written by `" + program.name +
                     " completions bash`.\n" + replace_at(kBegin, function);
  std::string cases = command_case({}, program, words);
  for (const CommandPath& path : command_paths(program)) {
    std::vector<std::string> above = path.names;
    above.pop_back();
    text += "      " + single_quoted(join(above, " ") + "/" + path.names.back()) +
            ") command=" + single_quoted(join(path.names, " ")) + " ;;\n";
    cases += command_case(path.names, *path.command, words);
  }
  text += "    esac\n  done\n  case $command in\n" + cases;
  return text + replace_at(kEnd, function) + program.name + "\n";
}

}  // namespace fatune
