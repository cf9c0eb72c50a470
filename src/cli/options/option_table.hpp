// option_table.hpp: Declares an option once, for its parsing, its --help and its words in a
// recorded command.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "core/result.hpp"

namespace CLI {
class App;
}
namespace fatune {
struct RunPlan;
}

namespace fatune::cli {

/// Target of the typed value. A bool is a switch, and an int counts a switch. An optional text is
/// empty when typed without a value.
using OptionValue =
    std::variant<bool*, int*, std::string*, std::vector<std::string>*, std::optional<std::string>*>;

/// When a recorded command repeats the option.
enum class Repeat {
  kNo,
  kChanged,    ///< if it differs from its default
  kRecording,  ///< if it names recordings, since a GPU's number does not say what was measured
  kAlways,
};

/// Effect of an option that is typed beside --resume.
struct Resume {
  bool only_new_runs = false;
  /// Copies the typed members into the plan, so that the run continues only if its journal agrees.
  void (*take)(RunPlan& plan, const RunPlan& typed) = nullptr;
};
inline constexpr Resume kOnlyNewRuns{.only_new_runs = true};
/// Takes the members of RunPlan that the option sets.
template <auto... members>
inline constexpr Resume kSameAsRun{
    .take = [](auto& plan, const auto& typed) { ((plan.*members = typed.*members), ...); }};

struct OptionRow {
  const char* flags;  ///< "-q,--quiet"; "RUN" for an argument without a flag
  OptionValue value;
  std::string type{};  ///< "FILE"; empty for a switch
  std::string help{};  ///< one line, or more lines where the help explains values
  Repeat repeat = Repeat::kNo;
  Resume resume{};
  bool required = false;
  char separator = '\0';  ///< separator of the values of a list
};
inline OptionRow required(OptionRow row) {
  row.required = true;
  return row;
}
inline OptionRow comma_separated(OptionRow row) {
  row.separator = ',';
  return row;
}
struct OptionGroup {
  std::string title;
  std::vector<OptionRow> rows;
};
/// Groups in the order of --help and of the recorded command.
using OptionTable = std::vector<OptionGroup>;

OptionTable tables(std::initializer_list<OptionTable> parts);
/// Returns "--quiet" for "-q,--quiet".
std::string long_name(const OptionRow& row);

/// Options as a shell reads them: " --seed 42 --kernel-dir my/kernels". `usual` holds the defaults.
std::string repeat_options(const OptionTable& typed, const OptionTable& usual);
template <typename Args>
std::string repeat_options(OptionTable (*table)(Args&), const Args& args) {
  Args typed = args, usual{};
  return repeat_options(table(typed), table(usual));
}

// Defined in commands.cpp, so that no other source includes CLI11.

/// Registers the options. The current values of the targets are the defaults.
void add_options(CLI::App& command, const OptionTable& table);
/// Sets the example below a command's --help.
void add_example(CLI::App& command, const std::string& example);
CLI::App* add_command(CLI::App& parent, const std::string& name, const std::string& summary,
                      const OptionTable& table);
/// Whether the command was typed.
bool is_typed(const CLI::App& command);
/// Long names of the typed options, also of options typed with their default value.
std::set<std::string> typed_options(const CLI::App& command);

/// Options of every command.
struct CommonArgs {
  bool json = false;
  bool quiet = false;
  int verbose = 0;
  std::vector<std::string> kernel_dirs;
  std::string nvrtc;
  std::string cache;
  std::string python;
  std::set<std::string> typed;  ///< long names of the typed options, also with default values
};
OptionTable common_table(CommonArgs& args);

struct ProblemArgs {
  std::vector<std::string> shapes;
  std::vector<std::string> sizes;
  std::string suite;
  std::string dtype;      ///< empty: f16
  std::string out_dtype;  ///< empty: bf16 for fp8, otherwise dtype
  std::string quant;      ///< empty: given
  bool causal = false;
  bool lse = false;
  std::string kv_heads;
  std::string seq_kv;
  std::string layout;  ///< empty: bhsd, or what the suite says
  std::string scale;   ///< empty: 1/sqrt(head_dim), or what the suite says
};
OptionTable problem_table(ProblemArgs& args);

/// Config or kernel, with problems.
struct ChoiceArgs {
  std::string config;  ///< best.json, or {"kernel":...,"config":{...}}
  std::string kernel;  ///< kernel at its default config
  ProblemArgs problem;
};
OptionTable choice_table(ChoiceArgs& args);

/// Options of the rounds of a final phase.
struct RoundsArgs {
  std::string rounds = "40";
  std::string seed = "42";
};
OptionTable rounds_table(RoundsArgs& args);

OptionTable device_table(std::string& device);
OptionTable devices_table(std::string& devices);  ///< for one or several devices

/// Parses the value of `flag`. The usage error names the range.
Result<std::int64_t> whole_number(const std::string& flag, const std::string& text,
                                  std::int64_t least,
                                  std::int64_t most = std::numeric_limits<std::int64_t>::max());

}  // namespace fatune::cli
