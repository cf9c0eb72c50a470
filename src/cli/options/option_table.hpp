// option_table.hpp - the one declaration of an option to its registration, its --help and its words
// in a recorded command; the tables that commands share, and what is typed for them.
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

/// Where the typed value goes. A bool is a switch, an int counts a switch; an optional text may
/// stand without its value, then it is empty.
using OptionValue =
    std::variant<bool*, int*, std::string*, std::vector<std::string>*, std::optional<std::string>*>;

/// Whether a recorded command has the option.
enum class Repeat {
  kNo,
  kChanged,    ///< when it differs from its default
  kRecording,  ///< when it names recordings: they say what was measured, a GPU's number does not
  kAlways,
};

/// What becomes of an option that is typed beside --resume.
struct Resume {
  bool only_new_runs = false;
  /// Takes over what is typed: the run continues only if that is what its journal says.
  void (*take)(RunPlan& plan, const RunPlan& typed) = nullptr;
};
inline constexpr Resume kOnlyNewRuns{.only_new_runs = true};
/// For the members of RunPlan that the option sets.
template <auto... members>
inline constexpr Resume kSameAsRun{
    .take = [](auto& plan, const auto& typed) { ((plan.*members = typed.*members), ...); }};

struct OptionRow {
  const char* flags;  ///< "-q,--quiet"; "RUN" for an argument without a flag
  OptionValue value;
  std::string type{};  ///< "FILE"; empty for a switch
  std::string help{};  ///< one line, more where values are explained
  Repeat repeat = Repeat::kNo;
  Resume resume{};
  bool required = false;
  char separator = '\0';  ///< at which a list's values are cut apart
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
/// In the order of --help and of the recorded command.
using OptionTable = std::vector<OptionGroup>;

OptionTable tables(std::initializer_list<OptionTable> parts);
/// "--quiet" of "-q,--quiet".
std::string long_name(const OptionRow& row);

/// As a shell would read it: " --seed 42 --kernel-dir my/kernels". `usual` has the defaults.
std::string repeat_options(const OptionTable& typed, const OptionTable& usual);
template <typename Args>
std::string repeat_options(OptionTable (*table)(Args&), const Args& args) {
  Args typed = args, usual{};
  return repeat_options(table(typed), table(usual));
}

// By CLI11; in commands.cpp, so that no other source includes it.

/// Default values are those that the rows' targets have now.
void add_options(CLI::App& command, const OptionTable& table);
/// The example under a command's --help.
void add_example(CLI::App& command, const std::string& example);
CLI::App* add_command(CLI::App& parent, const std::string& name, const std::string& summary,
                      const OptionTable& table);
/// Whether the command is the one that was typed.
bool is_typed(const CLI::App& command);
/// The long names that the command line has, those typed with their default value included.
std::set<std::string> typed_options(const CLI::App& command);

/// Options every command has.
struct CommonArgs {
  bool json = false;
  bool quiet = false;
  int verbose = 0;
  std::vector<std::string> kernel_dirs;
  std::string nvrtc;
  std::string cache;
  std::string python;
  std::set<std::string> typed;  ///< flags on the command line, those with their defaults included
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
OptionTable devices_table(std::string& devices);  ///< one or several

/// The value of `flag`; else a usage error that names the range.
Result<std::int64_t> whole_number(const std::string& flag, const std::string& text,
                                  std::int64_t least,
                                  std::int64_t most = std::numeric_limits<std::int64_t>::max());

}  // namespace fatune::cli
