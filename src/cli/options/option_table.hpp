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
struct FinalPlan;
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

/// Commands that share one table of options, as bits.
enum Verb : unsigned { kSweep = 1, kCompile = 2, kResume = 4, kFinals = 8, kTune = 16 };

struct OptionRow {
  const char* flags;  ///< "-q,--quiet"; "RUN" for an argument without a flag
  OptionValue value;
  std::string type{};  ///< "FILE"; empty for a switch
  std::string help{};  ///< one line, or more lines where the help explains values
  Repeat repeat = Repeat::kChanged;
  unsigned verbs = kSweep | kTune;  ///< in a table that commands share: those that have the option
  bool needs_search = false;        ///< without meaning for --budget 0
  bool required = false;
  char separator = '\0';  ///< separator of the values of a list
  bool several = false;   ///< a list: each flag takes all words up to the next option, not one
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
/// The table with these verbs in every row.
OptionTable given_to(unsigned verbs, OptionTable table);
/// Rows of the table that the command has.
OptionTable rows_of(Verb verb, const OptionTable& table);
/// Returns "--quiet" for "-q,--quiet".
std::string long_name(const OptionRow& row);

/// Options as a shell reads them: " --seed 42 --kernel-dir my/kernels". `usual` holds the defaults.
std::string repeat_options(const OptionTable& typed, const OptionTable& usual);
template <typename Args>
std::string repeat_options(OptionTable (*table)(Args&), const Args& args) {
  Args typed = args, usual{};
  return repeat_options(table(typed), table(usual));
}

/// Long name of the first typed option whose row has the property; empty if there is none.
std::string first_typed(const OptionTable& table, const std::set<std::string>& typed,
                        bool OptionRow::*property);
template <typename Args>
std::string first_typed(OptionTable (*table)(Args&), const Args& args,
                        const std::set<std::string>& typed, bool OptionRow::*property) {
  Args copy = args;
  return first_typed(table(copy), typed, property);
}

// Defined in commands.cpp, so that the commands do not include CLI11.

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

/// Title of the group that only `fatune --help` lists in full.
inline constexpr const char* kCommonTitle = "Options of every command";
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
  std::string mask;
  bool causal = false;
  bool lse = false;
  bool alibi = false, sink = false;
  std::string kv_heads;
  std::string seq_kv;
  std::string value_dim;             ///< empty: head_dim
  std::string layout;                ///< empty: bhsd, or what the suite says
  std::string softcap, bias, score;  ///< empty: none
  std::vector<std::string> tensors;
  std::string scale;  ///< empty: 1/sqrt(head_dim), or what the suite says
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
/// Parses --jobs. 0 without the flag: decided by the number of cores.
Result<std::size_t> parse_jobs(const std::string& text);
Result<std::uint64_t> parse_seed(const std::string& text);
/// Parses --rounds and --seed of a final phase.
Result<FinalPlan> resolve_rounds(const RoundsArgs& args);

/// Answer to a retired option of a command ("--portfolio", "--portfolio=3"), which names its
/// replacement; empty for other words.
std::optional<std::string> retired_answer(std::string_view command, std::string_view word);

}  // namespace fatune::cli
