// main.cpp - arguments to a command to an exit code.
#include <exception>
#include <span>
#include <string>
#include <vector>

#include "base/interrupt.hpp"
#include "base/log.hpp"
#include "cli/commands.hpp"
#include "cli/exit_code.hpp"

int main(int argc, char** argv) {
  try {
    const std::vector<std::string> args(argv + 1, argv + argc);
    if (const auto worker = fatune::cli::find_worker(args)) return worker();
    fatune::install_interrupt_handler();
    return fatune::cli::run_command(argc, argv);
  } catch (const std::exception& bug) {
    fatune::log::error(std::string("bug: ") + bug.what());
    return fatune::cli::kBug;
  }
}
