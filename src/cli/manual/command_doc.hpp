// command_doc.hpp - commands and their options as plain data, for manual pages and completions.
#pragma once

#include <string>
#include <vector>

namespace fatune {

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

}  // namespace fatune
