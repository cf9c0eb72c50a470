// command_tree.hpp - the option parser's commands as a description; what is hidden stays so.
#pragma once

#include "cli/manual/command_doc.hpp"

namespace CLI {
class App;
}

namespace fatune::cli {

/// The very definitions that --help prints.
CommandDoc describe_commands(const CLI::App& app);

}  // namespace fatune::cli
