// cmd_completions.cpp - prints the completions of one shell, made from the commands themselves.
#include <filesystem>
#include <memory>

#include <CLI/CLI.hpp>

#include "cli/commands/setup.hpp"
#include "cli/exit_code.hpp"
#include "cli/manual/command_tree.hpp"
#include "cli/manual/completions.hpp"
#include "cli/manual/known_values.hpp"
#include "cli/options/services.hpp"
#include "cli/output.hpp"
#include "core/file.hpp"

namespace fatune::cli {
namespace {

struct CompletionsArgs {
  std::string shell;
  std::string out;
};

Result<std::string> script(const std::string& shell, const CommandDoc& program,
                           const ValueWords& words) {
  if (shell == "bash") return bash_completions(program, words);
  if (shell == "zsh") return zsh_completions(program, words);
  if (shell == "fish") return fish_completions(program, words);
  return usage_error("completions: '" + shell + "' is not one of bash, zsh, fish");
}

Result<int> write_script(const CompletionsArgs& args, const CommandDoc& program,
                         const Settings& settings) {
  FATUNE_TRY(const ValueWords words, known_values(settings));
  FATUNE_TRY(const std::string text, script(args.shell, program, words));
  if (args.out.empty()) {
    print(text);
    return kDone;
  }
  const std::filesystem::path file = args.out;
  if (file.has_parent_path()) FATUNE_TRY_STATUS(make_directories(file.parent_path()));
  FATUNE_TRY_STATUS(replace_file(file, text));
  return kDone;
}

}  // namespace

Runner setup_completions(CLI::App& command) {
  auto args = std::make_shared<CompletionsArgs>();
  add_options(command, {{"Script",
                         {{.flags = "SHELL",
                           .value = &args->shell,
                           .type = "bash|zsh|fish",
                           .help = "The shell to complete in",
                           .required = true},
                          {.flags = "--out",
                           .value = &args->out,
                           .type = "FILE",
                           .help = "Write it to this file, in folders made as needed"}}}});
  add_example(command, "source <(fatune completions bash)");
  return [args, &command] {
    return with_settings(CommonArgs{}, [&](const Settings& settings) {
      return write_script(*args, describe_commands(*command.get_parent()), settings);
    });
  };
}

}  // namespace fatune::cli
