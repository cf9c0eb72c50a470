// cmd_tune.cpp: Declares a user's kernel from options and files, and sweeps it.
#include <algorithm>
#include <filesystem>
#include <map>

#include <fmt/format.h>

#include "cli/commands.hpp"
#include "cli/commands/ready_sweep.hpp"
#include "cli/options/launchers.hpp"
#include "core/file.hpp"
#include "core/text.hpp"
#include "model/declaring/declare.hpp"
#include "search/specifications/specification.hpp"

namespace fatune::cli {
namespace {

namespace fs = std::filesystem;

struct TuneArgs : SweepArgs {
  std::string file;
  std::string write;  ///< folder; empty: sweep
  std::map<const StatementWord*, std::vector<std::string>> said{};
};

/// Reads a file and the typed statements. Another kind of file is another row of kReaders.
struct FileReader {
  std::string_view ending;
  Result<Declared> (*read)(const fs::path& file, std::span<const Statement> typed);
};
constexpr FileReader kReaders[] = {
    {".cu", declare_source}, {".fatune", declare_text}, {".json", declare_json}};

OptionTable tune_table(TuneArgs& a) {
  OptionGroup kernel{
      "Kernel",
      {required(
          {"FILE", &a.file, "",
           "Tune this CUDA file (its lines //@ WORD TEXT are options, too), text file of lines "
           "WORD: TEXT, or JSON file of T1, KTT, BAT or kernel_launcher"})}};
  for (const StatementWord& word : statement_words()) {
    OptionRow row{word.flag, &a.said[&word], word.value, word.help};
    row.several = word.repeat != StatementWord::Repeat::kReplaces;
    kernel.rows.push_back(std::move(row));
  }
  kernel.rows.push_back(
      {"--write", &a.write, "DIR", "Write the kernel with its manifest to this folder, and stop"});
  return tables({{std::move(kernel)}, rows_of(kTune, sweep_options(a))});
}

Result<Declared> read(const TuneArgs& args) {
  std::vector<Statement> typed;
  for (const StatementWord& word : statement_words()) {
    for (const std::string& text : args.said.at(&word)) typed.push_back({&word, text, word.flag});
  }
  const auto* const reader = std::ranges::find_if(
      kReaders, [&](const FileReader& each) { return args.file.ends_with(each.ending); });
  if (reader != std::end(kReaders)) return reader->read(args.file, typed);
  std::vector<std::string> endings;
  for (const FileReader& each : kReaders) endings.emplace_back(each.ending);
  return usage_error(
      fmt::format("{}: tune reads files that end in {}", args.file, join(endings, ", ")));
}

Status write(const Declared& declared, const fs::path& folder) {
  std::error_code ignored;
  if (fs::exists(folder, ignored) && !fs::is_empty(folder, ignored))
    return usage_error("--write: " + folder.string() + " is not empty; name a new folder");
  FATUNE_TRY_STATUS(make_directories(folder));
  for (const SourceFile& file : declared.files)
    FATUNE_TRY_STATUS(write_below(folder, file.path, file.text));
  return {};
}

/// Returns the folder of the kernel, which is below that of the run.
Result<fs::path> kernel_folder(SweepArgs& run, const std::string& kernel) {
  if (run.out.empty()) {
    FATUNE_TRY(const fs::path made,
               make_run_folder("runs/" + local_time("%Y%m%d-%H%M%S-") + kernel));
    run.out = made.string();
  }
  fs::path folder = fs::path(run.out) / "kernel";
  std::error_code ignored;
  if (!fs::exists(folder, ignored)) return folder;
  return usage_error(fmt::format(
      "--out: {0} holds a run; name another folder, or go on with: fatune resume {0} --kernel-dir "
      "{0}/kernel",
      shell_word(run.out)));
}

/// Sweeps the kernel of the folder. A run that fails before its journal begins leaves nothing.
Result<int> sweep_folder(const SweepArgs& run, const fs::path& folder, Settings settings) {
  settings.kernel_dirs.push_back(folder);
  auto done = sweep(run, settings);
  std::error_code ignored;
  if (!done && !fs::exists(fs::path(run.out) / "journal.jsonl", ignored)) {
    fs::remove_all(folder, ignored);
    fs::remove(run.out, ignored);
  }
  return done;
}

Result<int> tune(const TuneArgs& args, const Settings& settings) {
  FATUNE_TRY(const SweepUse use, resolve_use(args));
  if (use.ranks > 1)
    return usage_error(
        "tune runs in one process; write the kernel with --write DIR, and start `fatune sweep "
        "--kernel-dir DIR` with mpirun or srun");
  if (!args.write.empty() && settings.json)
    return usage_error("--json answers with a run's result; leave it out beside --write");
  FATUNE_TRY(const Declared declared, read(args));
  SweepArgs run = args;
  FATUNE_TRY(const fs::path folder, args.write.empty() ? kernel_folder(run, declared.kernel)
                                                       : Result<fs::path>(args.write));
  FATUNE_TRY_STATUS(write(declared, folder));
  run.kernels = {declared.kernel};
  run.problem.sizes = declared.sizes;
  run.common.kernel_dirs.push_back(folder.string());
  // A reference that copies data has a time without meaning.
  const bool copied = std::ranges::count(declared.files, kAnswerSource, &SourceFile::path) > 0;
  if (copied && run.baselines.empty()) run.baselines = "none";
  if (!args.write.empty()) {
    print(fmt::format("wrote {}\nnext: fatune sweep{}\n", folder.string(),
                      repeat_options(verb_table<kSweep>, run)));
    return kDone;
  }
  return sweep_folder(run, folder, settings);
}

}  // namespace

Runner setup_tune(CLI::App& command) {
  return make_runner(
      command, tune_table,
      "fatune tune examples/tune/blur.cu\n"
      "fatune tune examples/tune/add.cu --param block_size_x=128..512:64 --size n=99999 "
      "--array 'a, b, c: [n]' --output c --grid 'n / block_size_x' --block block_size_x\n"
      "These examples need a GPU.",
      tune);
}

}  // namespace fatune::cli
