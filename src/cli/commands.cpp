// commands.cpp: Registers commands and options with CLI11, describes them as data, and words parse
// errors.
#include "cli/commands.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "cli/manual/manual.hpp"
#include "cli/options/defaults.hpp"
#include "core/text.hpp"

namespace fatune::cli {
namespace {

struct CommandInfo {
  const char* name;
  const char* summary;
  Runner (*setup)(CLI::App&);
  const char* group;  ///< title in --help
};

constexpr const char* kFind = "Find a kernel";
constexpr const char* kUse = "Use and compare the result";
constexpr const char* kLook = "Look inside";
constexpr const char* kServe = "Let programs write kernels";
constexpr const char* kShell = "Machine and shell";

constexpr CommandInfo kCommands[] = {
    {"sweep", "Find the fastest correct kernel for a problem", setup_sweep, kFind},
    {"tune", "Tune your own CUDA file as it is, without a manifest", setup_tune, kFind},
    {"resume", "Continue an interrupted run, without repeating finished work", setup_resume, kFind},
    {"finals", "Skip to the final phase of a run; repeat it where a baseline was unavailable",
     setup_finals, kFind},
    {"compile", "Compile a kernel's configs and show their resources, without a GPU", setup_compile,
     kFind},
    {"merge", "Join the runs of a suite's shards into one run", setup_merge, kFind},
    {"export", "Export a best config to other programs: machine code, source, header", setup_export,
     kUse},
    {"report", "Show the result of a run, or convert it for other tuners", setup_report, kUse},
    {"bench", "Measure configs and implementations, with samples and intervals", setup_bench, kUse},
    {"verify", "Run every correctness gate on a config or a kernel", setup_verify, kUse},
    {"gate", "Decide whether a candidate is faster than its baselines: exit 0 or 1", setup_gate,
     kUse},
    {"inspect", "Show a kernel's search space and resources, and why a config is ruled out",
     setup_inspect, kLook},
    {"profile", "Explain what limits a config, from hardware counters read by ncu", setup_profile,
     kLook},
    {"kernels", "List the kernels that can be tuned; `kernels lint` checks them", setup_kernels,
     kLook},
    {"replay", "Score search strategies on recorded data, with no GPU", setup_replay, kLook},
    {"judge", "Judge the kernels of a program or a model, over stdin and stdout", setup_judge,
     kServe},
    {"evolve", "Let a program propose kernels, and keep the correct and fast ones", setup_evolve,
     kServe},
    {"doctor", "Check whether this machine can tune and is quiet enough", setup_doctor, kShell},
    {"devices", "List the GPUs of this machine", setup_devices, kShell},
    {"completions", "Print the script that enables tab completion in a shell", setup_completions,
     kShell},
    {"man", "Print a manual page, or write all of them", setup_man, kShell},
    {"schema", "Print the JSON Schema of a format that fatune writes", setup_schema, kShell},
};

struct PythonCommand {
  const char *name, *summary;
};
/// Commands of the Python package.
constexpr PythonCommand kPython[] = {
    {"optimize", "Tune the attention calls of a PyTorch script, and run it with the winners"},
    {"capture", "Write the attention calls of a PyTorch script as a suite"},
    {"kt", "Run a script of Kernel Tuner, whose kernels are tuned by fatune"},
    {"import", "Turn a task of another benchmark into a suite"},
};

std::string python_line(const PythonCommand& command) {
  return fmt::format("python -m fatune {}", command.name);
}

/// Formats --help in two columns, wrapped to the width of the terminal.
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
    if (group == kCommonTitle) return group + ", such as --json and --python: fatune --help\n";
    std::string text = group + ":\n";
    for (const CLI::Option* option : options) text += make_option(option, positional);
    return positional ? text + "\n" : text;
  }
  std::string make_option(const CLI::Option* option, bool positional) const override {
    return entry("  " + make_option_name(option, positional) + make_option_opts(option),
                 make_option_desc(option));
  }
  std::string make_subcommands(const CLI::App* app, CLI::AppFormatMode mode) const override {
    std::string text = CLI::Formatter::make_subcommands(app, mode);
    if (app->get_parent() != nullptr) return text;
    text += "\nIn Python:\n";
    for (const PythonCommand& each : kPython) text += entry("  " + python_line(each), each.summary);
    CommonArgs args;
    CLI::App common;
    add_options(common, common_table(args));
    text += fmt::format("\n{}:\n", kCommonTitle);
    for (const CLI::Option* option : common.get_options())
      if (option != common.get_help_ptr()) text += make_option(option, false);
    return text;
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
  for (const ExitCode& each : exit_codes()) {
    codes.push_back(fmt::format("{} {}", each.code, each.word));
    if (each.code != kEnvironment) continue;  // the words of the others suffice
    const std::string meaning = each.meaning;
    codes.back() +=
        fmt::format(" ({})", lower(meaning.substr(0, 1)) + meaning.substr(1, meaning.size() - 2));
  }
  const std::string text = "Exit codes: " + join(codes, ", ");
  return "First command:\n  fatune sweep --shape 4,8,512,64\n" +
         join(wrap(text, std::min(text_columns(), kUsualColumns)), "\n");
}

/// Subcommand in which the parser stopped, for "see fatune X --help".
std::string help_hint(const CLI::App& app) {
  const auto chosen = app.get_subcommands();
  return chosen.empty() ? "fatune --help" : "fatune " + chosen.front()->get_name() + " --help";
}

/// Error for a first word that is neither a command nor an option. The parser would only report a
/// missing subcommand.
std::optional<std::string> unknown_word(const std::vector<std::string>& words) {
  if (words.empty()) return std::nullopt;
  const std::string& word = words.front();
  if (word.starts_with("-")) {
    const std::vector<std::string> options = {"--help", "--version", "-h", "-V"};
    if (std::find(options.begin(), options.end(), word) != options.end()) return std::nullopt;
    return fmt::format(
        "there is no option {}{}", word,
        nearest_hint(word, options, "; did you mean {}?", "; options follow the command"));
  }
  std::vector<std::string> known;
  for (const CommandInfo& info : kCommands) {
    if (word == info.name) return std::nullopt;
    known.emplace_back(info.name);
  }
  for (const PythonCommand& each : kPython) {
    if (word == each.name) return "this command runs in Python: " + python_line(each);
  }
  return fmt::format(
      "there is no command '{}'{}", word,
      nearest_hint(word, known, "; did you mean {}?", "; there are " + join(known, ", ")));
}

/// Flag that is missing before a word such as "4,8,512,64" or "M=4096,N=64".
std::string missing_flag(const CLI::App& command, const std::string& word) {
  for (const auto& [flag, letters] : {std::pair("--size", "="), std::pair("--shape", ",")}) {
    if (word.find(letters) != std::string::npos && command.get_option_no_throw(flag) != nullptr)
      return flag;
  }
  return "";
}

std::vector<std::string> commands_with(const CLI::App& app, const std::string& option) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (command->get_option_no_throw(option.substr(0, option.find('='))) != nullptr)
      names.push_back(command->get_name());
  }
  return names;
}

/// Error for the first unexpected word, with the option that it resembles or its command.
std::string unexpected_argument(const CLI::App& app) {
  const std::vector<std::string> rest = app.remaining(true);
  const CLI::App& command = *app.get_subcommands().front();
  const std::string& name = command.get_name();
  const auto option = std::ranges::find_if(rest, [](auto& word) { return word.starts_with("-"); });
  if (option == rest.end()) {
    const auto inner = command.get_subcommands([](const CLI::App*) { return true; });
    const std::string& word = rest.front();
    if (!inner.empty())
      return "there is no '" + name + " " + word + "', only " + name + " " + inner[0]->get_name();
    const std::string flag = missing_flag(command, word);
    return "unexpected argument '" + word +
           (flag.empty() ? "'" : "'; did you mean " + flag + " " + word + "?");
  }
  if (const auto answer = retired_answer(name, *option)) return *answer;
  const std::vector<std::string> owners = commands_with(app, *option);
  if (!owners.empty())
    return fmt::format("{} is an option of {}, not of {}", *option, join(owners, ", "), name);
  std::vector<std::string> known;
  for (const CLI::Option* each : command.get_options()) {
    for (const std::string& flag : each->get_lnames()) known.push_back("--" + flag);
  }
  return fmt::format("there is no option {}{}", *option,
                     nearest_hint(*option, known, "; did you mean {}?"));
}

/// Refuses an empty value: --out "$UNSET" is a mistake, not a run without --out.
CLI::Validator not_empty() {
  return {
      [](const std::string& text) { return std::string(text.empty() ? "the value is empty" : ""); },
      "", "not empty"};
}

/// Words the parser's error for too many or too few values.
std::string mismatch_text(const std::string& what) {
  const std::string flag = what.substr(0, what.find(": "));
  if (what.find("required but received") != std::string::npos)
    return flag + ": is given too often; give it once";
  if (what.ends_with(" missing")) return flag + ": has no value; give it one";
  return what;
}

struct Register {
  CLI::App& command;
  const OptionRow& row;

  CLI::Option* operator()(auto* value) const {
    return command.add_flag(row.flags, *value, row.help);
  }
  CLI::Option* operator()(std::string* value) const {
    CLI::Option* option = command.add_option(row.flags, *value, row.help);
    option->check(not_empty());
    return value->empty() ? option : option->capture_default_str();
  }
  CLI::Option* operator()(std::vector<std::string>* values) const {
    CLI::Option* option = command.add_option(row.flags, *values, row.help);
    if (!option->get_positional()) option->allow_extra_args(row.several);
    if (row.separator != '\0') option->delimiter(row.separator);
    option->check(not_empty());
    return values->empty() ? option : option->capture_default_str();
  }
  CLI::Option* operator()(std::optional<std::string>* value) const {
    const auto set = [value](const std::string& text) { *value = text; };
    return command.add_option_function<std::string>(row.flags, set, row.help)->expected(0, 1);
  }
};

constexpr const char* kUnnamedType = "TEXT";  // CLI11's name for a value without a type's name

OptionDoc describe_option(const CLI::Option& option) {
  OptionDoc doc;
  for (const std::string& name : option.get_snames()) doc.flags.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) doc.flags.push_back("--" + name);
  if (doc.flags.empty()) doc.argument = option.get_name();
  if (option.get_type_size() > 0) doc.value = option.get_type_name();
  // The name of an argument is its type: FILE, RUN, KERNEL.
  if (doc.flags.empty() && doc.value == kUnnamedType) doc.value = doc.argument;
  doc.preset = option.get_default_str();
  doc.description = option.get_description();
  doc.repeatable = option.get_items_expected_max() > 1;
  doc.required = option.get_required();
  if (option.get_group() != "Options") doc.group = option.get_group();  // CLI11's own title
  return doc;
}

/// Command lines of a footer, which are its indented lines.
std::vector<std::string> examples_in(const std::string& footer) {
  std::vector<std::string> examples;
  for (const std::string& line : split(footer, '\n')) {
    if (line.starts_with("  ")) examples.emplace_back(trim(line));
  }
  return examples;
}

/// All commands with their options.
struct Program {
  CLI::App app{
      "fatune finds, proves and records the fastest attention kernel for your shape on your GPU.",
      "fatune"};
  std::map<std::string, Runner> runners;

  Program() {
    app.set_version_flag("-V,--version", std::function<std::string()>(version_text));
    app.require_subcommand(1);
    app.footer(footer());
    app.formatter(std::make_shared<HelpFormatter>(text_columns()));
    for (const CommandInfo& info : kCommands) {
      CLI::App* command = app.add_subcommand(info.name, info.summary);
      command->group(info.group);
      runners[info.name] = info.setup(*command);
    }
  }
};

int report_parse_error(const CLI::App& app, const CLI::ParseError& error,
                       const Invocation& invocation) {
  if (error.get_exit_code() == 0) return app.exit(error);
  const bool extra = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr &&
                     !app.get_subcommands().empty() && !app.remaining(true).empty();
  const bool mismatch = dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr;
  const std::string what = extra      ? unexpected_argument(app)
                           : mismatch ? mismatch_text(error.what())
                                      : error.what();
  return fail(invocation, kUsage, fmt::format("{} (see {})", what, help_hint(app)));
}

}  // namespace

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

void add_example(CLI::App& command, const std::string& example) {
  command.footer("Example:\n  " + example);
}

CLI::App* add_command(CLI::App& parent, const std::string& name, const std::string& summary,
                      const OptionTable& table) {
  CLI::App* command = parent.add_subcommand(name, summary);
  add_options(*command, table);
  return command;
}

bool is_typed(const CLI::App& command) { return command.parsed(); }

CommandDoc describe_commands(const CLI::App& app) {
  CommandDoc doc{
      .name = app.get_name(), .summary = app.get_description(), .group = app.get_group()};
  doc.examples = examples_in(app.get_footer());
  const auto every_option = [](const CLI::Option* option) { return !option->get_group().empty(); };
  for (const CLI::Option* option : app.get_options(every_option))
    doc.options.push_back(describe_option(*option));
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    doc.commands.push_back(describe_commands(*command));
  return doc;
}

CommandDoc describe_fatune() { return describe_commands(Program().app); }

int run_command(const Invocation& invocation) {
  set_log_colour();
  Program program;
  CLI::App& app = program.app;
  std::vector<std::string> words = invocation.words;
  if (!words.empty() && words.front() == "__complete")
    return complete_words(app, {words.begin() + 1, words.end()});
  if (const auto wrong = unknown_word(words))
    return fail(invocation, kUsage, *wrong + " (see fatune --help)");
  auto all = with_defaults(std::move(words), [&app] { return describe_commands(app); });
  if (!all) return fail(invocation, all.error());
  try {
    std::ranges::reverse(*all);  // order of the parser
    app.parse(*std::move(all));
  } catch (const CLI::ParseError& error) {
    return report_parse_error(app, error, invocation);
  }
  return program.runners.at(app.get_subcommands().front()->get_name())(invocation);
}

}  // namespace fatune::cli
