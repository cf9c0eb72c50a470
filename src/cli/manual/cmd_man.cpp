// cmd_man.cpp - prints one manual page, or writes all of them into a folder.
#include <filesystem>
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cli/commands.hpp"
#include "cli/manual/command_doc.hpp"
#include "cli/manual/man_page.hpp"
#include "core/file.hpp"
#include "core/text.hpp"

namespace fatune::cli {
namespace {

struct ManArgs {
  std::string command;
  std::string out;
};

ManFacts facts() {
  ManFacts facts;
  facts.version = FATUNE_VERSION;
  for (const ExitCode& each : exit_codes())
    facts.exit_codes.emplace_back(fmt::to_string(each.code), each.meaning);
  for (const EnvironmentVariable& each : environment_variables())
    facts.environment.emplace_back(each.name, each.meaning);
  facts.files = {
      {"runs/DATE-TIME-PROBLEM", "what a sweep writes: best.json, and journal.jsonl as it goes"},
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

Status write_pages(const CommandDoc& program, const std::filesystem::path& folder) {
  FATUNE_TRY_STATUS(make_directories(folder));
  FATUNE_TRY_STATUS(write_page(program, "", folder));
  for (const CommandDoc& command : program.commands)
    FATUNE_TRY_STATUS(write_page(program, command.name, folder));
  return {};
}

Result<int> man(const ManArgs& args, const CommandDoc& program) {
  if (!args.out.empty() && !args.command.empty())
    return usage_error("man: --out writes every page; leave out '" + args.command + "'");
  if (!args.out.empty()) {
    FATUNE_TRY_STATUS(write_pages(program, args.out));
    return kDone;
  }
  FATUNE_TRY(const std::string text, page(program, args.command));
  print(text);
  return kDone;
}

}  // namespace

Runner setup_man(CLI::App& command) {
  auto args = std::make_shared<ManArgs>();
  add_options(
      command,
      {{"Pages",
        {{"COMMAND", &args->command, "", "The command whose page is printed [fatune itself]"},
         {"--out", &args->out, "DIR",
          "Write all pages, fatune.1 and fatune-COMMAND.1, to here"}}}});
  add_example(command, "fatune man sweep | man -l -");
  return [args, &command] {
    return with_settings(CommonArgs{}, [&](const Settings&) {
      return man(*args, describe_commands(*command.get_parent()));
    });
  };
}

}  // namespace fatune::cli
