// commands.cpp - registers every command with the option parser and turns parse errors into our
// own.
#include "cli/commands.hpp"

#include <cstdio>
#include <map>

#include <CLI/CLI.hpp>

#include "base/log.hpp"
#include "cli/cmd_bench.hpp"
#include "cli/cmd_devices.hpp"
#include "cli/cmd_doctor.hpp"
#include "cli/cmd_inspect.hpp"
#include "cli/cmd_kernels.hpp"
#include "cli/cmd_sweep.hpp"
#include "cli/cmd_verify.hpp"
#include "cli/exit_code.hpp"
#include "compile/pool.hpp"
#include "evaluate/device_evaluator.hpp"

namespace fatune::cli {
namespace {

struct CommandInfo {
  const char* name;
  const char* summary;
  Runner (*setup)(CLI::App&);
};

constexpr CommandInfo kCommands[] = {
    {"sweep", "Find the fastest correct kernel for a problem", setup_sweep},
    {"bench", "Measure one config, with samples and intervals", setup_bench},
    {"verify", "Run every correctness gate on a config or a kernel", setup_verify},
    {"inspect", "Show a kernel's space, resources, and why a config is ruled out", setup_inspect},
    {"kernels", "List what can be tuned; `kernels lint` checks it", setup_kernels},
    {"devices", "List the GPUs that are here", setup_devices},
    {"doctor", "Check whether this machine is able and quiet enough", setup_doctor},
};

constexpr const char* kFooter =
    "First command:\n  fatune sweep --shape 4,8,512,64\n"
    "Exit codes: 0 done, 1 the answer is no, 2 usage, 3 environment, 4 files, 5 device, 70 bug, "
    "130 interrupted";

/// The subcommand the parser stopped in, for "see fatune X --help".
std::string help_hint(const CLI::App& app) {
  const auto chosen = app.get_subcommands();
  return chosen.empty() ? "fatune --help" : "fatune " + chosen.front()->get_name() + " --help";
}

int report_parse_error(const CLI::App& app, const CLI::ParseError& error) {
  if (error.get_exit_code() == 0) return app.exit(error);
  log::error(std::string(error.what()) + " (see " + help_hint(app) + ")");
  return kUsage;
}

}  // namespace

std::function<int()> find_worker(std::span<const std::string> args) {
  if (args.empty()) return {};
  const std::vector<std::string> rest(args.begin() + 1, args.end());
  if (args.front() == "compile-worker") return [rest] { return compile_worker_main(rest); };
  if (args.front() == "device-worker") return [rest] { return device_worker_main(rest); };
  return {};
}

int run_command(int argc, const char* const* argv) {
  CLI::App app(
      "fatune finds, proves and records the fastest attention kernel for your shape on your GPU.",
      "fatune");
  app.set_version_flag("--version", std::string("fatune ") + FATUNE_VERSION);
  app.require_subcommand(1);
  app.footer(kFooter);
  std::map<std::string, Runner> runners;
  for (const CommandInfo& info : kCommands)
    runners[info.name] = info.setup(*app.add_subcommand(info.name, info.summary));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return report_parse_error(app, error);
  }
  return runners.at(app.get_subcommands().front()->get_name())();
}

}  // namespace fatune::cli
