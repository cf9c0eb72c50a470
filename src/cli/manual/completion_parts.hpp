// completion_parts.hpp - what the scripts of all shells are made of.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/manual/command_doc.hpp"

namespace fatune {

/// Every type of value in the program, each once, in the order of its first use.
std::vector<std::string> value_types(const CommandDoc& program);
/// "KERNEL,..." as the end of a function's name: "kernel_".
std::string identifier(std::string_view type);
/// 'text' for bash and zsh, with quotes inside it kept.
std::string single_quoted(std::string_view text);
std::string first_line(std::string_view text);
/// A command with the names in front of it: {"kernels", "lint"}.
struct CommandPath {
  std::vector<std::string> names;  ///< without the program's
  const CommandDoc* command = nullptr;
};
/// Every command and those below it; the program itself is not among them.
std::vector<CommandPath> command_paths(const CommandDoc& program);

}  // namespace fatune
