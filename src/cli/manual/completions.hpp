// completions.hpp - a program's description to the script with which a shell completes its words.
#pragma once

#include <string>

#include "cli/manual/command_doc.hpp"
#include "cli/manual/value_words.hpp"

namespace fatune {

/// For bash 4.2 or newer; needs no bash-completion package. Words with colons ("torch:flash"),
/// comma-separated lists and --option=value are completed too.
std::string bash_completions(const CommandDoc& program, const ValueWords& words);
/// A file _PROGRAM for a folder of $fpath.
std::string zsh_completions(const CommandDoc& program, const ValueWords& words);
/// A file PROGRAM.fish for a completions folder of fish 3.
std::string fish_completions(const CommandDoc& program, const ValueWords& words);

}  // namespace fatune
