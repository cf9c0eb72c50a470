// main.cpp: Runs a command or the body of a child process, and returns its exit code.
#include <csignal>
#include <exception>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "cli/commands.hpp"
#include "core/interrupt.hpp"
#include "evolve/proposers/guard.hpp"
#include "worker/protocol/compilation.hpp"
#include "worker/protocol/messages.hpp"

namespace {

/// Opens missing standard streams: a daemon may start fatune without them, and a journal opened in
/// their place would receive the output.
void open_standard_streams() {
  for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; ++stream) {
    if (::fcntl(stream, F_GETFD) == -1) static_cast<void>(::open("/dev/null", O_RDWR));
  }
}

/// Ends the process on lack of memory. Threads and destructors could not report an exception.
void report_no_memory() {
  constexpr std::string_view kWords =
      "fatune: error: out of memory; is a file damaged, or are there too many --jobs?\n";
  static_cast<void>(!::write(STDERR_FILENO, kWords.data(), kWords.size()));
  ::_exit(fatune::cli::kEnvironment);
}

/// Exit code of a hidden worker command; nothing for any other command.
std::optional<int> run_worker(std::span<const std::string> args) {
  if (args.empty()) return std::nullopt;
  if (args[0] == "compile-worker") return fatune::compile_worker_main(args.subspan(1));
  if (args[0] == "device-worker") {
    if (args.size() > 1) fatune::cli::see_device_alone(args[1]);
    fatune::cli::launch_asynchronously();
    std::vector<std::string> folders;
    for (const auto& folder : fatune::cli::device_worker_folders()) folders.push_back(folder);
    return fatune::device_worker_main(folders);
  }
  if (args[0] == "profile-worker") return fatune::profile_worker_main(args.subspan(1));
  if (args[0] == fatune::kProposerGuard) return fatune::proposer_guard_main(args.subspan(1));
  return std::nullopt;
}

}  // namespace

int main(int argc, char** argv) {
  open_standard_streams();
  std::signal(SIGXFSZ, SIG_IGN);  // writing fails with EFBIG, which is told with the file's name
  std::set_new_handler(report_no_memory);
  const auto invocation = fatune::cli::read_invocation({argv + 1, argv + argc});
  try {
    if (const auto code = run_worker(invocation.words)) return *code;
    fatune::install_interrupt_handler();
    return fatune::cli::close_output(fatune::cli::run_command(invocation));
  } catch (const std::exception& bug) {
    return fatune::cli::fail(invocation, fatune::cli::kBug, std::string("bug: ") + bug.what());
  }
}
