// command_doc.hpp - the option parser's commands and options as plain data, for manual pages and
// completions.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace fatune::cli {

struct OptionDoc {
  std::vector<std::string> flags{};  ///< "-q", "--quiet"; empty for an argument without a flag
  std::string argument{};            ///< name of an argument without a flag: "RUN"
  std::string value{};   ///< what it takes: "FILE", "KERNEL,...", "text|md"; empty for a switch
  std::string preset{};  ///< the value when it is not given; empty: none
  std::string description{};  ///< one line, more where values are explained
  bool repeatable = false;
  bool required = false;
};

struct CommandDoc {
  std::string name{};  ///< as it is typed, without those above it: "lint"
  std::string summary{};
  std::vector<OptionDoc> options{};
  std::vector<CommandDoc> commands{};
  std::vector<std::string> examples{};  ///< command lines
};

/// The very definitions that --help prints; what is hidden stays so.
CommandDoc describe_commands(const CLI::App& app);

}  // namespace fatune::cli
