// man_page.hpp - a command's description to its manual page, in the man(7) macros.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/manual/command_doc.hpp"

namespace fatune::cli {

/// What every page says beside its command.
struct ManFacts {
  using Entry = std::pair<std::string, std::string>;  ///< a term and its meaning
  std::string version{};
  std::vector<Entry> exit_codes{}, environment{}, files{};
};

/// `text` so that troff prints it as it is: backslashes, hyphens, and lines that begin like a
/// macro.
std::string roff_text(std::string_view text);
/// Page of the program: PROGRAM(1), with a line a command.
std::string program_page(const CommandDoc& program, const ManFacts& facts);
/// Page of one of its commands, with the commands below that: PROGRAM-COMMAND(1).
std::string command_page(const CommandDoc& program, const CommandDoc& command,
                         const ManFacts& facts);

}  // namespace fatune::cli
