// cmd_completions.cpp - prints the script of one shell; answers its questions with the names that
// options take: kernels, strategies, suites.
#include <filesystem>

#include <fmt/core.h>

#include "cli/commands.hpp"
#include "cli/manual/complete.hpp"
#include "cli/options/catalog.hpp"
#include "cli/options/problems.hpp"
#include "core/file.hpp"
#include "out/export/formats.hpp"
#include "search/strategies/strategy.hpp"

namespace fatune::cli {
namespace {

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
  const std::filesystem::path file = args.out;
  if (file.has_parent_path()) FATUNE_TRY_STATUS(make_directories(file.parent_path()));
  FATUNE_TRY_STATUS(replace_file(file, text));
  return kDone;
}

/// The fixtures that misbehave on purpose are not among them.
std::vector<Word> kernel_words(const Settings& settings) {
  std::vector<Word> words;
  const auto catalog = load_catalog(settings);
  if (!catalog) return words;
  for (const KernelRef& kernel : *catalog) {
    const Manifest& manifest = kernel->manifest;
    if (manifest.role != Role::kFault) words.push_back({manifest.name, manifest.summary});
  }
  return words;
}

std::vector<Word> implementation_words(const Settings& settings) {
  std::vector<Word> words;
  for (const std::string& name : implementation_names(outside_options(settings)))
    words.push_back({name, ""});
  for (Word& word : kernel_words(settings)) words.push_back(std::move(word));
  return words;
}

template <typename Infos>
std::vector<Word> words_of(const Infos& infos) {
  std::vector<Word> words;
  for (const auto& info : infos)
    words.push_back({std::string(info.name), std::string(info.summary)});
  return words;
}

std::vector<Word> suite_words() {
  std::vector<Word> words;
  for (const std::string& name : suite_names()) words.push_back({name, ""});
  return words;
}

Values known_values(const std::string& type, const Settings& settings) {
  if (type == "FILE" || type == "PATH" || type == "RUN") return {{}, Paths::kFile};
  if (type == "DIR") return {{}, Paths::kFolder};
  if (type == "PROGRAM") return {{}, Paths::kProgram};
  if (type == "KERNEL") return {kernel_words(settings)};
  if (type == "STRATEGY") return {words_of(strategies())};
  if (type == "SUITE") return {suite_words(), Paths::kFile};
  if (type == "WHAT") return {implementation_words(settings), Paths::kFile};
  if (type == "FORMAT") return {words_of(export_formats())};
  if (type == "IMPL") {
    Values values{{{"none", "no baseline"}}};
    for (Word& word : implementation_words(settings)) values.words.push_back(std::move(word));
    return values;
  }
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
  return {};
}

OptionTable completions_table(CompletionsArgs& a) {
  return {{"Script",
           {{.flags = "SHELL",
             .value = &a.shell,
             .type = "bash|zsh|fish",
             .help = "The shell to complete in",
             .required = true},
            {"--out", &a.out, "FILE", "Write it to this file, in folders made as needed"}}}};
}

/// Kernels of --kernel-dir are offered, too.
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

int complete_words(const CLI::App& app, const std::vector<std::string>& typed) {
  return with_settings(common_of(typed), [&](const Settings& settings) -> Result<int> {
    const auto known = [&](const std::string& type) { return known_values(type, settings); };
    print(completion_lines(complete(describe_commands(app), known, typed)));
    return kDone;
  });
}

Runner setup_completions(CLI::App& command) {
  return make_runner(command, completions_table, "source <(fatune completions bash)", write_script);
}

}  // namespace fatune::cli
