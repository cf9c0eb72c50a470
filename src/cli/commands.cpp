// commands.cpp - registers every command with the option parser and turns parse errors into our
// own.
#include "cli/commands.hpp"

#include <algorithm>
#include <cstdio>
#include <map>
#include <optional>

#include <CLI/CLI.hpp>

#include "cli/commands/cmd_bench.hpp"
#include "cli/commands/cmd_devices.hpp"
#include "cli/commands/cmd_export.hpp"
#include "cli/commands/cmd_gate.hpp"
#include "cli/commands/cmd_inspect.hpp"
#include "cli/commands/cmd_kernels.hpp"
#include "cli/commands/cmd_profile.hpp"
#include "cli/commands/cmd_replay.hpp"
#include "cli/commands/cmd_report.hpp"
#include "cli/commands/cmd_schema.hpp"
#include "cli/commands/cmd_sweep.hpp"
#include "cli/commands/cmd_verify.hpp"
#include "cli/doctor/cmd_doctor.hpp"
#include "cli/exit_code.hpp"
#include "cli/manual/cmd_completions.hpp"
#include "cli/manual/cmd_man.hpp"
#include "cli/options/settings.hpp"
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

std::string footer() {
  std::vector<std::string> codes;
  for (const ExitCode& each : exit_codes())
    codes.push_back(std::to_string(each.code) + " " + each.word);
  return "First command:\n  fatune sweep --shape 4,8,512,64\nExit codes: " + join(codes, ", ");
}

/// The subcommand the parser stopped in, for "see fatune X --help".
std::string help_hint(const CLI::App& app) {
  const auto chosen = app.get_subcommands();
  return chosen.empty() ? "fatune --help" : "fatune " + chosen.front()->get_name() + " --help";
}

/// The first word, when it names no command: the parser itself only misses a subcommand.
std::optional<std::string> unknown_command(int argc, const char* const* argv) {
  if (argc < 2 || argv[1][0] == '-') return std::nullopt;
  std::vector<std::string> known;
  for (const CommandInfo& info : kCommands) known.emplace_back(info.name);
  const auto named = [&](const CommandInfo& info) {
    return argv[1] == std::string_view(info.name);
  };
  if (std::any_of(std::begin(kCommands), std::end(kCommands), named)) return std::nullopt;
  if (std::any_of(std::begin(kHiddenCommands), std::end(kHiddenCommands), named))
    return std::nullopt;
  const auto nearest = nearest_name(argv[1], known);
  return "there is no command '" + std::string(argv[1]) + "'" +
         (nearest ? "; did you mean " + *nearest + "?" : "; there are " + join(known, ", "));
}

/// The first word that the command did not expect, with the option it resembles.
std::string unexpected_argument(const CLI::App& app) {
  const std::vector<std::string> rest = app.remaining(true);
  const auto option = std::find_if(rest.begin(), rest.end(),
                                   [](const std::string& word) { return word.starts_with("-"); });
  if (option == rest.end()) return "unexpected argument '" + rest.front() + "'";
  std::vector<std::string> known;
  for (const CLI::Option* each : app.get_subcommands().front()->get_options()) {
    for (const std::string& name : each->get_lnames()) known.push_back("--" + name);
  }
  const auto nearest = nearest_name(*option, known);
  return "there is no option " + *option + (nearest ? "; did you mean " + *nearest + "?" : "");
}

int report_parse_error(const CLI::App& app, const CLI::ParseError& error) {
  if (error.get_exit_code() == 0) return app.exit(error);
  const bool extra = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr;
  if (extra && !app.get_subcommands().empty() && !app.remaining(true).empty()) {
    log::error(unexpected_argument(app) + " (see " + help_hint(app) + ")");
    return kUsage;
  }
  log::error(std::string(error.what()) + " (see " + help_hint(app) + ")");
  return kUsage;
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
  std::map<std::string, Runner> runners;
  for (const CommandInfo& info : kCommands)
    runners[info.name] = info.setup(*app.add_subcommand(info.name, info.summary));
  for (const CommandInfo& info : kHiddenCommands)
    runners[info.name] = info.setup(*app.add_subcommand(info.name, info.summary)->group(""));
  if (const auto wrong = unknown_command(argc, argv)) {
    log::error(*wrong + " (see fatune --help)");
    return kUsage;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return report_parse_error(app, error);
  }
  return runners.at(app.get_subcommands().front()->get_name())();
}

}  // namespace fatune::cli
