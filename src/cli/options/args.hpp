// args.hpp - options as typed, before anything is resolved; shared by the commands.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace fatune::cli {

/// Options every command has.
struct CommonArgs {
  bool json = false;
  bool quiet = false;
  int verbose = 0;
  std::vector<std::string> kernel_dirs;
  std::string nvrtc;
  std::string cache;
  std::string python;
  std::vector<std::string> external_dirs;
};

struct ProblemArgs {
  std::vector<std::string> shapes;
  std::vector<std::string> sizes;
  std::string suite;
  std::string dtype = "f16";
  bool causal = false;
  bool lse = false;
  std::string kv_heads;
  std::string seq_kv;
};

/// A command registers its options on its subcommand and returns what runs it.
using Runner = std::function<int()>;

/// Those of them that decide what is measured, as a shell would read them: " --kernel-dir
/// my/kernels".
std::string repeat_options(const CommonArgs& args);
void add_common_options(CLI::App& command, CommonArgs& args);
void add_problem_options(CLI::App& command, ProblemArgs& args);
void add_device_option(CLI::App& command, std::string& device);
/// The example under a command's --help.
void add_example(CLI::App& command, const std::string& example);

}  // namespace fatune::cli
