// complete.cpp: Completes commands, options and their values, and prints the script of a shell.
#include <algorithm>
#include <array>
#include <filesystem>
#include <set>

#include <fmt/core.h>

#include "cli/commands.hpp"
#include "cli/manual/manual.hpp"
#include "cli/options/catalog.hpp"
#include "cli/options/problems.hpp"
#include "core/file.hpp"
#include "core/text.hpp"
#include "export/formats.hpp"
#include "search/strategies/strategy.hpp"

namespace fatune::cli {
namespace {

constexpr std::string_view kListEnd = ",...";

/// Script for bash. bash splits words at colons and equals signs, so the script reads the line
/// itself and removes the part that readline keeps.
constexpr std::string_view kBash =
    R"(# Completes fatune in bash; written by `fatune completions bash`.
_fatune() {
  local line=${COMP_LINE:0:COMP_POINT} word breaks=${COMP_WORDBREAKS//[^:=]/} paths='' head=''
  local -a typed=()
  COMPREPLY=()
  read -ra typed <<<"$line"
  [[ $line == *[[:space:]] ]] && typed+=('')
  while IFS= read -r word; do
    if [[ $word == :* ]]; then
      read -r paths head <<<"${word#:}"
    else
      COMPREPLY+=("${word%%$'\t'*}")
    fi
  done < <("${typed[0]/#\~/$HOME}" __complete "${typed[@]:1}" 2>/dev/null)
  local current=${typed[-1]} files=''
  case $paths in files) files=-f ;; folders) files=-d ;; programs) files=-c ;; esac
  if [[ $files ]]; then
    compopt -o filenames 2>/dev/null
    while IFS= read -r word; do
      COMPREPLY+=("$head$word")
    done < <(word=${current#"$head"}; compgen "$files" -- "${word/#\~/$HOME}")
  fi
  if [[ $breaks && $current == *[$breaks]* ]]; then
    COMPREPLY=("${COMPREPLY[@]#"${current%"${current##*["$breaks"]}"}"}")
  fi
}
complete -F _fatune fatune
)";

constexpr std::string_view kZsh = R"(#compdef fatune
# Completes fatune in zsh; written by `fatune completions zsh`.
_fatune() {
  local -a lines offered last
  lines=("${(@f)$(${(Q)words[1]/#\~/$HOME} __complete "${(@Q)words[2,CURRENT]}" 2>/dev/null)}")
  last=(${=lines[-1]})
  offered=("${(@)${(@)${(@)lines[1,-2]}//:/\\:}/$'\t'/:}")
  (($#lines > 1)) && _describe -V word offered
  [[ -n $last[2] ]] && compset -P ${(b)last[2]}
  case $last[1] in
    :files) _files ;;
    :folders) _files -/ ;;
    :programs) _command_names -e ;;
  esac
}
if [[ $funcstack[1] == _fatune ]]; then
  _fatune "$@"
else
  compdef _fatune fatune
fi
)";

constexpr std::string_view kFish =
    R"(# Completes fatune in fish; written by `fatune completions fish`.
function __fatune_complete
  set -l typed (commandline -opc) (commandline -ct)
  set -l lines ($typed[1] __complete $typed[2..-1] 2>/dev/null)
  set -l last (string split ' ' -- $lines[-1]) ''
  set -l rest (string sub --start (math (string length -- "$last[2]") + 1) -- $typed[-1])
  test (count $lines) -gt 1; and printf '%s\n' $lines[1..-2]
  switch $last[1]
    case :files
      printf '%s\n' $last[2](__fish_complete_path $rest)
    case :folders
      printf '%s\n' $last[2](__fish_complete_directories $rest)
    case :programs
      printf '%s\n' $last[2](__fish_complete_command)
  end
end
complete -c fatune -f -a '(__fatune_complete)'
)";

const OptionDoc* find_option(const CommandDoc& command, std::string_view flag) {
  for (const OptionDoc& option : command.options) {
    for (const std::string& each : option.flags) {
      if (each == flag) return &option;
    }
  }
  return nullptr;
}

bool takes(const OptionDoc* option, std::string_view word) {
  if (option == nullptr || option->value.empty()) return false;
  return !(option->value.starts_with('[') && word.starts_with('-'));
}

/// Command and option that the last word belongs to.
struct Place {
  const CommandDoc* command = nullptr;
  const OptionDoc* option = nullptr;   ///< option whose value the last word is
  std::set<const OptionDoc*> given{};  ///< options typed before the last word
};

Place place_of(const CommandDoc& program, const std::vector<std::string>& typed) {
  Place place{&program};
  for (auto word = typed.begin(); word + 1 < typed.end(); ++word) {
    if (takes(place.option, *word)) {
      place.option = nullptr;
      continue;
    }
    place.option = find_option(*place.command, word->substr(0, word->find('=')));
    if (place.option != nullptr) place.given.insert(place.option);
    if (word->find('=') != std::string::npos) place.option = nullptr;
    for (const CommandDoc& each : place.command->commands) {
      if (each.name != *word) continue;
      place.command = &each;
      break;
    }
  }
  if (!takes(place.option, typed.back())) place.option = nullptr;
  return place;
}

void add_values(const OptionDoc& option, const KnownValues& known, const std::string& current,
                Completion& completion) {
  std::string type = option.value;
  std::string rest = current.substr(completion.head.size());
  std::vector<std::string> used;
  if (type.ends_with(kListEnd)) {
    type.resize(type.size() - kListEnd.size());
    used = split(rest, ',');
    rest = used.back();
    used.pop_back();
    completion.head = current.substr(0, current.size() - rest.size());
  }
  Values values;
  if (type.find('|') == std::string::npos) {
    values = known(type);
  } else {
    for (const std::string& word : split(type, '|')) values.words.push_back({word, ""});
  }
  completion.paths = values.paths;
  for (const Word& word : values.words) {
    const bool again = std::find(used.begin(), used.end(), word.text) != used.end();
    if (!again && word.text.starts_with(rest))
      completion.words.push_back({completion.head + word.text, word.meaning});
  }
}

void add_names(const Place& place, const std::string& current, std::vector<Word>& words) {
  for (const CommandDoc& each : place.command->commands) {
    if (each.name.starts_with(current)) words.push_back({each.name, each.summary});
  }
  for (const OptionDoc& option : place.command->options) {
    if (!option.repeatable && place.given.count(&option) > 0) continue;
    for (const std::string& flag : option.flags) {
      if (flag.starts_with(current)) words.push_back({flag, option.description});
    }
  }
}

/// First line of a help text, without a final colon.
std::string summary(std::string_view text) {
  std::string line = first_line(text);
  if (line.ends_with(':')) line.pop_back();
  return line;
}

struct CompletionsArgs {
  CommonArgs common;
  std::string shell;
  std::string out;
};

Result<int> write_script(const CompletionsArgs& args, const Settings&) {
  const std::string text(completion_script(args.shell));
  if (text.empty())
    return usage_error(fmt::format("completions: '{}' is not one of bash, zsh, fish", args.shell));
  if (args.out.empty()) {
    print(text);
    return kDone;
  }
  const std::filesystem::path folder = std::filesystem::path(args.out).parent_path();
  if (!folder.empty()) FATUNE_TRY_STATUS(make_directories(folder));
  FATUNE_TRY_STATUS(replace_file(args.out, text));
  return kDone;
}

/// Adds all kernels except the fault kernels.
void add_kernels(const Settings& settings, std::vector<Word>& words) {
  const auto catalog = load_catalog(settings);
  if (!catalog) return;
  for (const KernelRef& kernel : *catalog) {
    const Manifest& manifest = kernel->manifest;
    if (manifest.role != Role::kFault) words.push_back({manifest.name, manifest.summary});
  }
}

void add_implementations(const Settings& settings, std::vector<Word>& words) {
  for (const std::string& name : library_names()) words.push_back({name, ""});
  add_kernels(settings, words);
}

Values known_values(const std::string& type, const Settings& settings) {
  if (type == "FILE" || type == "PATH" || type == "RUN") return {{}, Paths::kFile};
  if (type == "DIR") return {{}, Paths::kFolder};
  if (type == "PROGRAM") return {{}, Paths::kProgram};
  if (type == "DEVICE")
    return {{{"auto", "the GPU, or a recording where there is none"},
             {"recorded", "the recording that ships with fatune"},
             {"cuda:0", "the first GPU"},
             {"cuda:1", "the second GPU"}}};
  if (type == "sm_XX")
    return {{{"sm_80", "A100"},
             {"sm_86", "RTX 30"},
             {"sm_89", "L40S, RTX 40"},
             {"sm_90a", "H100, H200"},
             {"sm_100a", "B200"}}};
  if (type == "LAYOUT")
    return {{{"bhsd", "(batch, heads, sequence, head_dim)"},
             {"bshd", "(batch, sequence, heads, head_dim)"},
             {"packed", "q, k and v in one (batch, sequence, heads + 2 kv_heads, head_dim)"}}};
  Values values{{}, type == "SUITE" || type == "WHAT" ? Paths::kFile : Paths::kNone};
  const auto add = [&](std::string_view name, std::string_view summary) {
    values.words.push_back({std::string(name), std::string(summary)});
  };
  if (type == "KERNEL") add_kernels(settings, values.words);
  if (type == "IMPL") add("none", "no baseline");
  if (type == "IMPL" || type == "WHAT") add_implementations(settings, values.words);
  if (type == "STRATEGY") {
    for (const StrategyInfo& info : strategies()) add(info.name, info.summary);
  }
  if (type == "SCHEMA") {
    for (const std::string& name : schema_names()) add(name, "");
  }
  if (type == "FORMAT") {
    for (const ExportFormat& format : export_formats()) add(format.name, format.summary);
  }
  if (type == "SUITE") {
    for (const std::string& name : suite_names()) add(name, "");
  }
  return values;
}

OptionTable completions_table(CompletionsArgs& a) {
  return {{"Script",
           {required({"SHELL", &a.shell, "bash|zsh|fish", "Print the script for this shell"}),
            {"--out", &a.out, "FILE", "Write the script to this file, and make its folders"}}}};
}

/// Common options for completion, with the typed --kernel-dir folders.
CommonArgs common_of(const std::vector<std::string>& typed) {
  CommonArgs args;
  args.quiet = true;
  for (std::size_t i = 0; i + 1 < typed.size(); ++i) {
    std::error_code ignored;
    if (typed[i] == "--kernel-dir" && std::filesystem::is_directory(typed[i + 1], ignored))
      args.kernel_dirs.push_back(typed[i + 1]);
  }
  return args;
}

}  // namespace

Completion complete(const CommandDoc& program, const KnownValues& known,
                    std::vector<std::string> typed) {
  if (!typed.empty() && typed.front() == "help") typed.erase(typed.begin());
  if (typed.empty()) typed.emplace_back();
  const std::string& current = typed.back();
  const Place place = place_of(program, typed);
  Completion completion;
  const OptionDoc* option = place.option;
  if (option == nullptr && current.starts_with("--") && current.find('=') != std::string::npos) {
    option = find_option(*place.command, current.substr(0, current.find('=')));
    completion.head = current.substr(0, current.find('=') + 1);
  }
  if (option != nullptr) {
    add_values(*option, known, current, completion);
    return completion;
  }
  if (!current.starts_with("-")) {
    for (const OptionDoc& each : place.command->options) {
      if (!each.argument.empty()) add_values(each, known, current, completion);
      if (!each.argument.empty()) break;
    }
  }
  if (completion.words.empty() && completion.paths == Paths::kNone)
    add_names(place, current, completion.words);
  return completion;
}

std::string completion_lines(const Completion& completion) {
  constexpr std::array<std::string_view, 4> kPaths = {"none", "files", "folders", "programs"};
  std::string text;
  for (const Word& word : completion.words)
    text += fmt::format("{}\t{}\n", word.text, summary(word.meaning));
  return text + fmt::format(":{} {}\n", kPaths.at(static_cast<std::size_t>(completion.paths)),
                            completion.head);
}

std::string_view completion_script(std::string_view shell) {
  return shell == "bash" ? kBash : shell == "zsh" ? kZsh : shell == "fish" ? kFish : "";
}

int complete_words(const CLI::App& app, const std::vector<std::string>& typed) {
  return with_settings(common_of(typed), {}, [&](const Settings& settings) -> Result<int> {
    const CommandDoc program = describe_commands(app);
    const auto known = [&](const std::string& type) {
      Values values = known_values(type, settings);
      if (type != "COMMAND") return values;
      for (const CommandDoc& each : program.commands)
        values.words.push_back({each.name, each.summary});
      return values;
    };
    print(completion_lines(complete(program, known, typed)));
    return kDone;
  });
}

Runner setup_completions(CLI::App& command) {
  return make_runner(command, completions_table, "source <(fatune completions bash)", write_script);
}

}  // namespace fatune::cli
