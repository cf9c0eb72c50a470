// guard.cpp: Watches a program and its descendants through /proc and ends all of them together.
#include "evolve/proposers/guard.hpp"

#include <ctime>
#include <set>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/child.hpp"
#include "core/processes.hpp"
#include "core/text.hpp"

namespace fatune {
namespace {

constexpr long kPauseNs = 20'000'000;  // pause between two checks; chosen
constexpr int kRoundsToEnd = 200;      // chosen; one round ends all visible processes
constexpr int kGuardPriority =
    -10;  // chosen; where allowed, many processes cannot starve the guard

volatile std::sig_atomic_t told_to_end = 0;

extern "C" void note_end(int) { told_to_end = 1; }

/// Reaps ended children; returns whether `program` was among them.
bool reap(pid_t program, int& status) {
  bool ended = false;
  for (int each = 0;;) {
    const pid_t pid = ::waitpid(-1, &each, WNOHANG);
    if (pid <= 0) return ended;
    if (pid == program) {
      status = each;
      ended = true;
    }
  }
}

[[noreturn]] void exec_command(const std::string& command) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  std::signal(SIGTERM, SIG_DFL);
  ::execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
  ::_exit(127);
}

/// Closes the streams, so that the other end sees when the program closes its stdout.
void detach_streams() {
  const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  ::dup2(nothing, STDIN_FILENO);
  ::dup2(nothing, STDOUT_FILENO);
}

/// Returns the signal for the exceeded limit; 0 within the limits.
int excess(std::int64_t most_processes, std::int64_t most_bytes) {
  const auto all = living_below(::getpid());
  if (static_cast<std::int64_t>(all.size()) > most_processes) return kGuardTooMany;
  std::int64_t total = 0;
  for (const auto& [pid, bytes] : all) total += bytes;
  return total > most_bytes ? kGuardTooLarge : 0;
}

int exit_code(int status) {
  constexpr int kSignalled = 128;  // exit code base for signals, as in a shell
  return WIFSIGNALED(status) ? kSignalled + WTERMSIG(status) : WEXITSTATUS(status);
}

ChildEnd watch(pid_t program, std::int64_t most_processes, std::int64_t most_bytes) {
  const pid_t parent = ::getppid();
  for (int status = 0;;) {
    if (reap(program, status)) return {.code = exit_code(status)};
    if (told_to_end != 0 || ::getppid() != parent) return {.code = kGuardEnded};
    if (const int signal = excess(most_processes, most_bytes))
      return {.signalled = true, .code = signal};
    const timespec pause{0, kPauseNs};
    ::nanosleep(&pause, nullptr);
  }
}

}  // namespace

void end_below(const std::map<pid_t, std::int64_t>& spared) {
  std::set<pid_t> ended;
  for (int round = 0; round < kRoundsToEnd; ++round) {
    auto left = living_below(::getpid());
    std::erase_if(left, [&](const auto& each) { return spared.contains(each.first); });
    // A stopped process cannot fork faster than it is found.
    for (const auto& [pid, bytes] : left) ::kill(pid, SIGSTOP);
    for (const auto& [pid, bytes] : left) ::kill(pid, SIGKILL);
    for (const auto& [pid, bytes] : left) ended.insert(pid);
    std::erase_if(ended, [](pid_t pid) { return ::waitpid(pid, nullptr, WNOHANG) > 0; });
    if (left.empty()) return;
  }
}

Adoption::Adoption() : before_(living_below(::getpid())) { ::prctl(PR_SET_CHILD_SUBREAPER, 1); }

Adoption::~Adoption() {
  end_below(before_);
  ::prctl(PR_SET_CHILD_SUBREAPER, 0);
}

std::vector<std::string> guard_arguments(const std::string& command, const ProposerLimits& limits) {
  return {kProposerGuard, std::to_string(limits.processes), std::to_string(limits.memory_bytes),
          command};
}

int proposer_guard_main(std::span<const std::string> args) {
  const auto processes = args.size() == 3 ? parse_integer(args[0]) : std::nullopt;
  const auto bytes = args.size() == 3 ? parse_integer(args[1]) : std::nullopt;
  if (!processes || !bytes) return kGuardFailed;
  struct sigaction action {};
  action.sa_handler = note_end;
  sigaction(SIGTERM, &action, nullptr);
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  const pid_t program = ::fork();
  if (program == 0) exec_command(args[2]);
  if (program < 0) return kGuardFailed;
  ::setpgid(program, program);
  static_cast<void>(::setpriority(PRIO_PROCESS, 0, kGuardPriority));
  detach_streams();
  const ChildEnd end = watch(program, *processes, *bytes);
  ::kill(-program, SIGKILL);
  end_below();
  if (end.signalled) ::raise(end.code);
  return end.code;
}

}  // namespace fatune
