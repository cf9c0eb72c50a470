// args.hpp - options as typed, before anything is resolved, and the tables that commands share.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "cli/options/option_table.hpp"
#include "core/result.hpp"

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
  std::set<std::string> typed;  ///< flags on the command line, those with their defaults included
};
OptionTable common_table(CommonArgs& args);

struct ProblemArgs {
  std::vector<std::string> shapes;
  std::vector<std::string> sizes;
  std::string suite;
  std::string dtype;  ///< empty: f16
  bool causal = false;
  bool lse = false;
  std::string kv_heads;
  std::string seq_kv;
};
OptionTable problem_table(ProblemArgs& args);

/// A config or a kernel, with problems.
struct ChoiceArgs {
  std::string config;  ///< best.json, or {"kernel":...,"config":{...}}
  std::string kernel;  ///< its default config
  ProblemArgs problem;
};
OptionTable choice_table(ChoiceArgs& args);

/// The rounds of a final phase.
struct RoundsArgs {
  std::string rounds = "40";
  std::string seed = "42";
};
OptionTable rounds_table(RoundsArgs& args);

OptionTable device_table(std::string& device);

/// The value of `flag`; else a usage error that names the range.
Result<std::int64_t> whole_number(const std::string& flag, const std::string& text,
                                  std::int64_t least,
                                  std::int64_t most = std::numeric_limits<std::int64_t>::max());

/// A command registers its options on its subcommand and returns what runs it.
using Runner = std::function<int()>;

/// The example under a command's --help.
void add_example(CLI::App& command, const std::string& example);

}  // namespace fatune::cli
