// option_table.hpp - the one declaration of an option to its registration, its --help and its words
// in a recorded command.
#pragma once

#include <initializer_list>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

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
  kChanged,  ///< when it differs from its default
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
struct OptionGroup {
  std::string title;
  std::vector<OptionRow> rows;
};
/// In the order of --help and of the recorded command.
using OptionTable = std::vector<OptionGroup>;

OptionTable tables(std::initializer_list<OptionTable> parts);
/// Default values are those that the rows' targets have now.
void add_options(CLI::App& command, const OptionTable& table);
/// The long names that the command line has, those typed with their default value included.
std::set<std::string> typed_options(const CLI::App& command);
/// "--quiet" of "-q,--quiet".
std::string long_name(const OptionRow& row);

/// As a shell would read it: " --seed 42 --kernel-dir my/kernels". `usual` has the defaults.
std::string repeat_options(const OptionTable& typed, const OptionTable& usual);
template <typename Args>
std::string repeat_options(OptionTable (*table)(Args&), const Args& args) {
  Args typed = args, usual{};
  return repeat_options(table(typed), table(usual));
}

}  // namespace fatune::cli
