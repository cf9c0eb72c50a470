// args.cpp - registers the options that several commands share, each with its help.
#include "cli/options/args.hpp"

#include <CLI/CLI.hpp>

#include "core/text.hpp"

namespace fatune::cli {

void add_common_options(CLI::App& command, CommonArgs& args) {
  command.add_flag("--json", args.json, "Print one JSON document on stdout");
  command.add_flag("-q,--quiet", args.quiet, "No progress, warnings and errors only");
  command.add_flag("-v,--verbose", args.verbose, "Say more on stderr");
  command
      .add_option("--kernel-dir", args.kernel_dirs,
                  "Folder with your own kernels, besides those built in (repeatable)")
      ->type_name("DIR");
  command
      .add_option("--nvrtc", args.nvrtc, "The NVRTC library to compile with: a file or its folder")
      ->type_name("PATH");
  command
      .add_option("--cache", args.cache, "Folder of the compilation cache [$XDG_CACHE_HOME/fatune]")
      ->type_name("DIR");
  command
      .add_option("--python", args.python,
                  "The Python with PyTorch, for torch:* [$FATUNE_PYTHON, python3]")
      ->type_name("PROGRAM");
  command
      .add_option("--external-dir", args.external_dirs,
                  "Folder with your own descriptions of external programs (repeatable)")
      ->type_name("DIR");
}

std::string repeat_options(const CommonArgs& args) {
  std::string text;
  for (const std::string& folder : args.kernel_dirs) text += " --kernel-dir " + shell_word(folder);
  for (const std::string& folder : args.external_dirs)
    text += " --external-dir " + shell_word(folder);
  return text;
}

void add_problem_options(CLI::App& command, ProblemArgs& args) {
  command.add_option("--shape", args.shapes, "Problem: batch,heads,seq,head_dim (repeatable)")
      ->type_name("B,H,S,D");
  command
      .add_option("--size", args.sizes,
                  "Problem of a kernel's own operation, instead of --shape (repeatable)")
      ->type_name("NAME=N,...");
  command
      .add_option("--suite", args.suite, "Named list of problems: mission, fa3, decode, or a file")
      ->type_name("SUITE");
  command.add_option("--dtype", args.dtype, "Element type: f16, bf16")
      ->type_name("f16|bf16")
      ->capture_default_str();
  command.add_flag("--causal", args.causal, "Causal mask, aligned bottom-right");
  command.add_flag("--lse", args.lse, "Also write the log-sum-exp of each row, fp32");
  command.add_option("--kv-heads", args.kv_heads, "Key/value heads; divides heads [heads]")
      ->type_name("N");
  command.add_option("--seq-kv", args.seq_kv, "Length of keys and values [seq]")->type_name("N");
}

void add_device_option(CLI::App& command, std::string& device) {
  command.add_option("--device", device, "auto, cuda:N, recorded or recorded:FILE")
      ->type_name("DEVICE")
      ->capture_default_str();
}

void add_example(CLI::App& command, const std::string& example) {
  command.footer("Example:\n  " + example);
}

}  // namespace fatune::cli
