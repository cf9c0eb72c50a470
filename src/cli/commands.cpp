// commands.cpp - registers every command with the option parser and turns parse errors into our
// own.
#include "cli/commands.hpp"

#include <algorithm>
#include <cstdio>
#include <map>
#include <optional>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "core/log.hpp"
#include "core/text.hpp"

namespace fatune::cli {
namespace {

struct CommandInfo {
  const char* name;
  const char* summary;
  Runner (*setup)(CLI::App&);
};

constexpr CommandInfo kCommands[] = {
    {"sweep", "Find the fastest correct kernel for a problem", setup_sweep},
    {"bench", "Measure configs and implementations, with samples and intervals", setup_bench},
    {"verify", "Run every correctness gate on a config or a kernel", setup_verify},
    {"gate", "Decide whether a candidate is faster than its baselines: exit 0 or 1", setup_gate},
    {"profile", "Say what binds a config, from hardware counters read by ncu", setup_profile},
    {"export", "Hand a best config to other programs: machine code, source, header", setup_export},
    {"report", "Show what a run tried, or hand it to other tuners", setup_report},
    {"replay", "Score search strategies on recorded data, with no GPU", setup_replay},
    {"inspect", "Show a kernel's space, resources, and why a config is ruled out", setup_inspect},
    {"kernels", "List what can be tuned; `kernels lint` checks it", setup_kernels},
    {"devices", "List the GPUs that are here", setup_devices},
    {"doctor", "Check whether this machine is able and quiet enough", setup_doctor},
};

/// Of use to packages, to those who set up a shell, and to programs that read our files; left out
/// of --help's list.
constexpr CommandInfo kHiddenCommands[] = {
    {"completions", "Print the script that completes fatune's words in a shell", setup_completions},
    {"man", "Print a manual page, or write all of them", setup_man},
    {"schema", "Print the JSON Schema of a format that fatune writes", setup_schema},
};

/// --help in two columns, wrapped to the width of the terminal.
class HelpFormatter : public CLI::Formatter {
 public:
  explicit HelpFormatter(std::size_t columns) : columns_(std::min(columns, kWidestHelp)) {}

  std::string make_description(const CLI::App* app) const override {
    return join(wrap(app->get_description(), columns_), "\n") + "\n";
  }
  std::string make_usage(const CLI::App* app, std::string name) const override {
    return CLI::Formatter::make_usage(app, std::move(name)) + "\n";
  }
  std::string make_group(std::string group, bool positional,
                         std::vector<const CLI::Option*> options) const override {
    std::string text = group + ":\n";
    for (const CLI::Option* option : options) text += make_option(option, positional);
    return positional ? text + "\n" : text;
  }
  std::string make_option(const CLI::Option* option, bool positional) const override {
    return entry("  " + make_option_name(option, positional) + make_option_opts(option),
                 make_option_desc(option));
  }
  std::string make_subcommand(const CLI::App* command) const override {
    return entry("  " + command->get_name(), command->get_description());
  }

 private:
  static constexpr std::size_t kWidestHelp = 100;  // chosen: longer lines are hard to read
  static constexpr std::size_t kFlags = 26;        // chosen: most flags with their values fit

  std::string entry(std::string flags, const std::string& help) const {
    bool fits = flags.size() + 2 <= kFlags;
    if (!fits) flags += "\n";
    for (const std::string& line : wrap(help, columns_ > kFlags ? columns_ - kFlags : 1)) {
      flags += fits ? std::string(kFlags - flags.size(), ' ') : std::string(kFlags, ' ');
      flags += line + "\n";
      fits = false;
    }
    return flags;
  }

  std::size_t columns_;
};

std::string footer() {
  std::vector<std::string> codes;
  for (const ExitCode& each : exit_codes())
    codes.push_back(fmt::format("{} {}", each.code, each.word));
  const std::string text = "Exit codes: " + join(codes, ", ");
  return "First command:\n  fatune sweep --shape 4,8,512,64\n" +
         join(wrap(text, std::min(text_columns(), kUsualColumns)), "\n");
}

/// The subcommand the parser stopped in, for "see fatune X --help".
std::string help_hint(const CLI::App& app) {
  const auto chosen = app.get_subcommands();
  return chosen.empty() ? "fatune --help" : "fatune " + chosen.front()->get_name() + " --help";
}

std::string did_you_mean(const std::optional<std::string>& nearest, const std::string& otherwise) {
  return nearest ? "; did you mean " + *nearest + "?" : otherwise;
}

/// The first word, when it names neither a command nor an option of fatune itself: the parser only
/// misses a subcommand.
std::optional<std::string> unknown_word(const std::vector<std::string>& words) {
  if (words.empty()) return std::nullopt;
  const std::string& word = words.front();
  if (word.starts_with("-")) {
    const std::vector<std::string> options = {"--help", "--version", "-h"};
    if (std::find(options.begin(), options.end(), word) != options.end()) return std::nullopt;
    return fmt::format("there is no option {}{}", word,
                       did_you_mean(nearest_name(word, options), "; options follow the command"));
  }
  std::vector<std::string> known;
  for (const CommandInfo& info : kCommands) known.emplace_back(info.name);
  const auto named = [&](const CommandInfo& info) { return word == info.name; };
  if (std::any_of(std::begin(kCommands), std::end(kCommands), named)) return std::nullopt;
  if (std::any_of(std::begin(kHiddenCommands), std::end(kHiddenCommands), named))
    return std::nullopt;
  return fmt::format("there is no command '{}'{}", word,
                     did_you_mean(nearest_name(word, known), "; there are " + join(known, ", ")));
}

/// "4,8,512,64" and "M=4096,N=64" behind a command that takes them with a flag.
std::string missing_flag(const CLI::App& command, const std::string& word) {
  for (const auto& [flag, letters] : {std::pair("--size", "="), std::pair("--shape", ",")}) {
    if (word.find(letters) != std::string::npos && command.get_option_no_throw(flag) != nullptr)
      return flag;
  }
  return "";
}

/// The first word that the command did not expect, with the option it resembles.
std::string unexpected_argument(const CLI::App& app) {
  const std::vector<std::string> rest = app.remaining(true);
  const auto option = std::find_if(rest.begin(), rest.end(),
                                   [](const std::string& word) { return word.starts_with("-"); });
  if (option == rest.end()) {
    const std::string flag = missing_flag(*app.get_subcommands().front(), rest.front());
    const std::string meant =
        flag.empty() ? "" : "; did you mean " + flag + " " + rest.front() + "?";
    return fmt::format("unexpected argument '{}'{}", rest.front(), meant);
  }
  std::vector<std::string> known;
  for (const CLI::Option* each : app.get_subcommands().front()->get_options()) {
    for (const std::string& name : each->get_lnames()) known.push_back("--" + name);
  }
  return fmt::format("there is no option {}{}", *option,
                     did_you_mean(nearest_name(*option, known), ""));
}

int report_parse_error(const CLI::App& app, const CLI::ParseError& error) {
  if (error.get_exit_code() == 0) return app.exit(error);
  const bool extra = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr;
  if (extra && !app.get_subcommands().empty() && !app.remaining(true).empty()) {
    return fail(kUsage, fmt::format("{} (see {})", unexpected_argument(app), help_hint(app)));
  }
  return fail(kUsage, fmt::format("{} (see {})", error.what(), help_hint(app)));
}

}  // namespace

int run_command(int argc, const char* const* argv) {
  CLI::App app(
      "fatune finds, proves and records the fastest attention kernel for your shape on your GPU.",
      "fatune");
  set_log_colour();
  app.set_version_flag("--version", std::string("fatune ") + FATUNE_VERSION);
  app.require_subcommand(1);
  app.footer(footer());
  app.formatter(std::make_shared<HelpFormatter>(text_columns()));
  std::map<std::string, Runner> runners;
  for (const CommandInfo& info : kCommands)
    runners[info.name] = info.setup(*app.add_subcommand(info.name, info.summary));
  for (const CommandInfo& info : kHiddenCommands)
    runners[info.name] = info.setup(*app.add_subcommand(info.name, info.summary)->group(""));
  std::vector<std::string> words(argv + 1, argv + argc);
  if (!words.empty() && words.front() == "__complete")
    return complete_words(app, {words.begin() + 1, words.end()});
  if (!words.empty() && words.front() == "help") {
    words.erase(words.begin());
    words.push_back("--help");
  }
  keep_words(words);
  if (const auto wrong = unknown_word(words)) {
    return fail(kUsage, *wrong + " (see fatune --help)");
  }
  try {
    std::reverse(words.begin(), words.end());  // as the parser takes them
    app.parse(std::move(words));
  } catch (const CLI::ParseError& error) {
    return report_parse_error(app, error);
  }
  return runners.at(app.get_subcommands().front()->get_name())();
}

}  // namespace fatune::cli
