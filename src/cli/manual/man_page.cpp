// man_page.cpp: Writes the manual page of a command, or all pages into a folder.
#include <algorithm>
#include <filesystem>
#include <memory>

#include <fmt/format.h>

#include "cli/commands.hpp"
#include "cli/manual/manual.hpp"
#include "core/file.hpp"
#include "core/text.hpp"

namespace fatune::cli {
namespace {

std::string bold(std::string_view text) { return "\\fB" + roff_text(text) + "\\fR"; }
std::string italic(std::string_view text) { return "\\fI" + roff_text(text) + "\\fR"; }

std::string section(std::string_view title) { return ".SH " + std::string(title) + "\n"; }

/// Header of a page. The date is the commit's: the same sources give the same page on every day.
std::string head(const std::string& title, const ManFacts& facts) {
  return fmt::format(".TH {} 1 \"{}\" \"fatune {}\" \"User Commands\"\n.nh\n.ad l\n", upper(title),
                     facts.date, facts.version);
}

std::string name_section(const std::string& title, const std::string& summary) {
  return section("NAME") + roff_text(title) + " \\- " + roff_text(summary) + "\n";
}

/// Text of a description. Each line of a description becomes a line of its own.
std::string paragraphs(const std::string& description) {
  std::string text;
  for (const std::string& line : split(description, '\n')) {
    text += (text.empty() ? "" : ".br\n") + roff_text(line) + "\n";
  }
  return text;
}

std::string option_entry(const OptionDoc& option) {
  std::vector<std::string> names;
  for (const std::string& flag : option.flags) names.push_back(bold(flag));
  std::string text = ".TP\n" + join(names, ", ");
  if (option.flags.empty()) text += italic(option.argument);
  if (!option.flags.empty() && !option.value.empty()) text += " " + italic(option.value);
  text += "\n" + paragraphs(option.description);
  if (!option.preset.empty()) text += ".br\nUnless given: " + bold(option.preset) + "\n";
  return text;
}

/// Heading of a group, where its first member follows a member of another group.
std::string group_heading(const std::string& group, std::string& last) {
  if (group == last || group.empty()) return "";
  last = group;
  return ".SS " + roff_text(group) + "\n";
}

std::string options_section(const CommandDoc& command, const std::string& title) {
  std::string arguments, options, group;
  for (const OptionDoc& option : command.options) {
    if (option.flags.empty()) arguments += option_entry(option);
    if (!option.flags.empty()) options += group_heading(option.group, group) + option_entry(option);
  }
  return (arguments.empty() ? "" : section("ARGUMENTS") + arguments) +
         (options.empty() ? "" : section(title) + options);
}

/// Usage line: "fatune report [OPTIONS] RUN".
std::string usage(const std::string& called, const CommandDoc& command) {
  std::string text = bold(called) + " [" + italic("OPTIONS") + "]";
  for (const OptionDoc& option : command.options) {
    if (!option.flags.empty()) continue;
    const std::string name = italic(option.argument) + (option.repeatable ? " ..." : "");
    text += option.required ? " " + name : " [" + name + "]";
  }
  return text + "\n";
}

std::string synopsis(const std::string& called, const CommandDoc& command) {
  std::string text = section("SYNOPSIS") + usage(called, command);
  for (const CommandDoc& each : command.commands)
    text += ".br\n" + usage(called + " " + each.name, each);
  return text;
}

std::string entries(const std::string& title, const std::vector<ManFacts::Entry>& list) {
  if (list.empty()) return "";
  std::string text = section(title);
  for (const auto& [term, meaning] : list)
    text += ".TP\n" + bold(term) + "\n" + roff_text(meaning) + "\n";
  return text;
}

std::string examples(const CommandDoc& command) {
  if (command.examples.empty()) return "";
  std::string text = section("EXAMPLES") + ".nf\n";
  for (const std::string& line : command.examples) text += roff_text(line) + "\n";
  return text + ".fi\n";
}

std::string see_also(const std::vector<std::string>& pages) {
  std::vector<std::string> names;
  names.reserve(pages.size());
  for (const std::string& page : pages) names.push_back(bold(page) + "(1)");
  return section("SEE ALSO") + join(names, ", ") + "\n";
}

/// Whether the command has the option, so that pages of subcommands leave it out.
bool has_option(const CommandDoc& command, const OptionDoc& option) {
  return !option.flags.empty() &&
         std::any_of(command.options.begin(), command.options.end(),
                     [&](const OptionDoc& other) { return other.flags == option.flags; });
}

/// Summary without its subject: "fatune finds kernels." continues a line that begins with "fatune -
/// ".
std::string what_it_does(const CommandDoc& program) {
  std::string text = program.summary;
  if (text.starts_with(program.name + " ")) text.erase(0, program.name.size() + 1);
  if (text.ends_with('.')) text.pop_back();
  return text;
}

std::string page_of(const CommandDoc& program, const CommandDoc& command) {
  return program.name + "-" + command.name;
}

struct ManArgs {
  std::string command;
  std::string out;
};

ManFacts facts() {
  ManFacts facts;
  facts.version = FATUNE_VERSION;
  facts.date = kCommitDate;
  for (const ExitCode& each : exit_codes())
    facts.exit_codes.emplace_back(fmt::to_string(each.code), each.meaning);
  for (const EnvironmentVariable& each : environment_variables())
    facts.environment.emplace_back(each.name, each.meaning);
  facts.files = {
      {"runs/DATE-TIME-PROBLEM", "output of a sweep: best.json, and journal.jsonl during the run"},
      {"~/.config/fatune/config.toml",
       "defaults of options, such as `device = \"cuda:1\"`; those "
       "of one command stand below its name: [sweep]"},
      {"~/.cache/fatune", "compiled kernels; may be deleted at any time"},
      {"~/.local/share/fatune/cuda",
       "NVRTC and CUDA's headers from pip, where there is no CUDA toolkit; doctor prints the line"},
      {"~/.local/share/fatune/torch", "a virtual environment with PyTorch, for torch:*"}};
  return facts;
}

Result<std::string> page(const CommandDoc& program, const std::string& name) {
  if (name.empty()) return program_page(program, facts());
  std::vector<std::string> names;
  for (const CommandDoc& command : program.commands) {
    if (command.name == name) return command_page(program, command, facts());
    names.push_back(command.name);
  }
  return usage_error("man: there is no command '" + name + "'; there are " + join(names, ", "));
}

Status write_page(const CommandDoc& program, const std::string& name,
                  const std::filesystem::path& folder) {
  FATUNE_TRY(const std::string text, page(program, name));
  return replace_file(folder / (program.name + (name.empty() ? "" : "-" + name) + ".1"), text);
}

Result<int> man(const ManArgs& args, const CommandDoc& program) {
  if (!args.out.empty() && !args.command.empty())
    return usage_error("man: --out writes every page; leave out '" + args.command + "'");
  if (!args.out.empty()) {
    FATUNE_TRY_STATUS(make_directories(args.out));
    FATUNE_TRY_STATUS(write_page(program, "", args.out));
    for (const CommandDoc& command : program.commands)
      FATUNE_TRY_STATUS(write_page(program, command.name, args.out));
    return kDone;
  }
  FATUNE_TRY(const std::string text, page(program, args.command));
  print(text);
  return kDone;
}

}  // namespace

std::string roff_text(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '\\') {
      result += "\\e";
    } else if (c == '-') {
      result += "\\-";
    } else {
      result += c;
    }
  }
  const bool like_a_macro = result.starts_with('.') || result.starts_with('\'');
  return like_a_macro ? "\\&" + result : result;
}

std::string program_page(const CommandDoc& program, const ManFacts& facts) {
  std::string text = head(program.name, facts) + name_section(program.name, what_it_does(program)) +
                     section("SYNOPSIS") + bold(program.name) + " " + italic("COMMAND") + " [" +
                     italic("OPTIONS") + "]\n" + section("COMMANDS");
  std::vector<std::string> pages;
  std::string group;
  for (const CommandDoc& command : program.commands) {
    text += group_heading(command.group, group) + ".TP\n" + bold(command.name) + "\n" +
            roff_text(command.summary) + "\n";
    pages.push_back(page_of(program, command));
  }
  return text + options_section(program, "OPTIONS") + entries("ENVIRONMENT", facts.environment) +
         entries("FILES", facts.files) + entries("EXIT STATUS", facts.exit_codes) +
         examples(program) + see_also(pages);
}

std::string command_page(const CommandDoc& program, const CommandDoc& command,
                         const ManFacts& facts) {
  const std::string title = page_of(program, command);
  std::string text = head(title, facts) + name_section(title, command.summary) +
                     synopsis(program.name + " " + command.name, command) +
                     options_section(command, "OPTIONS");
  for (const CommandDoc& each : command.commands) {
    text += section("COMMAND " + upper(each.name)) + roff_text(each.summary) + "\n";
    for (const OptionDoc& option : each.options) {
      if (!has_option(command, option)) text += option_entry(option);
    }
  }
  std::vector<std::string> pages = {program.name};
  for (const CommandDoc& other : program.commands) {
    if (other.name != command.name) pages.push_back(page_of(program, other));
  }
  return text + entries("EXIT STATUS", facts.exit_codes) + examples(command) + see_also(pages);
}

Runner setup_man(CLI::App& command) {
  auto args = std::make_shared<ManArgs>();
  add_options(command,
              {{"Pages",
                {{"COMMAND", &args->command, "", "Print the page of this command [fatune itself]"},
                 {"--out", &args->out, "DIR",
                  "Write all pages, fatune.1 and fatune-COMMAND.1, to this folder"}}}});
  add_example(command, "fatune man sweep | man -l -");
  return [args](const Invocation& invocation) {
    return with_settings({}, invocation,
                         [&](const Settings&) { return man(*args, describe_fatune()); });
  };
}

}  // namespace fatune::cli
