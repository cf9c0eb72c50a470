// child.cpp: Starts a command in its own process group, waits for it and kills it.
#include "core/child.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>
#include <system_error>
#include <thread>

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/descriptor.hpp"

namespace fatune {
namespace {

using Clock = std::chrono::steady_clock;

/// Everything the new process needs, made before the fork: afterwards only async-signal-safe calls
/// are allowed.
struct Launch {
  const char* program = nullptr;
  std::vector<char*> arguments;    // ends with a null pointer for execve
  std::vector<char*> environment;  // ends with a null pointer for execve
  /// Descriptors by their number in the child: stdin, stdout, stderr, the channel, and the pipe
  /// that receives errno if the program cannot be started.
  std::array<int, Child::kChannelDescriptor + 2> descriptors;
  pid_t parent = 0;
};

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

bool is_inherited(std::string_view name, std::span<const std::string_view> patterns) {
  return patterns.empty() || std::ranges::any_of(patterns, [name](std::string_view pattern) {
           return pattern.ends_with('*') ? name.starts_with(pattern.substr(0, pattern.size() - 1))
                                         : name == pattern;
         });
}

/// Returns the inherited environment; `extra` replaces variables of equal name.
std::vector<std::string> environment_of(const ChildCommand& command) {
  const std::vector<std::string>& extra = command.extra_environment;
  std::vector<std::string> merged = extra;
  for (char** variable = environ; variable && *variable; ++variable) {
    const std::string_view text = *variable;
    const std::string_view with_equals = text.substr(0, text.find('=') + 1);
    const bool replaced = std::ranges::any_of(
        extra, [&](const std::string& other) { return other.starts_with(with_equals); });
    const std::string_view name = text.substr(0, text.find('='));
    if (!replaced && is_inherited(name, command.inherited)) merged.emplace_back(text);
  }
  return merged;
}

[[noreturn]] void give_up(int failure) {
  const int reason = errno;
  const ssize_t written = ::write(failure, &reason, sizeof reason);
  static_cast<void>(written);
  ::_exit(127);
}

void close_from(int first) {
  if (::close_range(static_cast<unsigned>(first), ~0U, 0) == 0) return;
  rlimit limit{};  // fallback for kernels before 5.9
  ::getrlimit(RLIMIT_NOFILE, &limit);
  const auto end = static_cast<int>(std::min<rlim_t>(limit.rlim_cur, 65536));
  for (int descriptor = first; descriptor < end; ++descriptor) ::close(descriptor);
}

/// Executes the program in the new process with async-signal-safe calls only.
[[noreturn]] void exec_child(const Launch& launch) {
  constexpr int kFailure = Child::kChannelDescriptor + 1;
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != launch.parent) ::_exit(127);  // the parent died before prctl
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
  sigset_t all;
  sigemptyset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  // Move the descriptors out of the way of the numbers 0 to 4, then to these numbers.
  auto descriptors = launch.descriptors;
  for (int& each : descriptors) {
    each = ::fcntl(each, F_DUPFD, 16);
    if (each < 0 && errno == EINVAL) errno = EMFILE;  // the limit is below 17
    if (each < 0) give_up(launch.descriptors.back());
  }
  for (int place = 0; const int each : descriptors) {
    if (::dup2(each, place++) < 0) give_up(descriptors.back());
  }
  ::fcntl(kFailure, F_SETFD, FD_CLOEXEC);
  close_from(kFailure + 1);
  ::execve(launch.program, launch.arguments.data(), launch.environment.data());
  give_up(kFailure);
}

Error start_failure(const ChildCommand& command, int reason) {
  return environment_error("cannot start " + command.program.string() + ": " +
                           std::generic_category().message(reason));
}

/// Returns errno of the new process if it could not start the program, else 0.
int read_failure(int pipe) {
  int reason = 0;
  ssize_t count = 0;
  do {
    count = ::read(pipe, &reason, sizeof reason);
  } while (count < 0 && errno == EINTR);
  return count == static_cast<ssize_t>(sizeof reason) ? reason : 0;
}

/// Opens the child's stderr: the file, or a copy of this process's stderr.
int open_errors(const ChildCommand& command) {
  if (command.stderr_file.empty()) return ::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);
  constexpr int kFlags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW;
  return ::open(command.stderr_file.c_str(), kFlags, 0666);
}

}  // namespace

std::string describe(const ChildEnd& end) {
  if (!end.signalled) return fmt::format("exit status {}", end.code);
  const char* abbreviation = ::sigabbrev_np(end.code);
  return abbreviation ? fmt::format("signal SIG{}", abbreviation)
                      : fmt::format("signal {}", end.code);
}

Result<Child> Child::start(const ChildCommand& command) {
  std::vector<std::string> arguments = {command.program.string()};
  arguments.insert(arguments.end(), command.arguments.begin(), command.arguments.end());
  std::vector<std::string> environment = environment_of(command);
  FATUNE_TRY(ChannelPair ends, make_channel_pair());
  std::array<int, 2> pipe{};
  if (::pipe2(pipe.data(), O_CLOEXEC) != 0) return start_failure(command, errno);
  Descriptor failure_read(pipe[0]);
  Descriptor failure_write(pipe[1]);
  const Descriptor input(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!input.open()) return start_failure(command, errno);
  const Descriptor errors(open_errors(command));
  if (!errors.open()) {
    return file_error(command.stderr_file.string() + ": cannot open for a worker's messages: " +
                      std::generic_category().message(errno));
  }
  const int other_end = ends.second.descriptor();
  const ChildTalk talk = command.talk;
  const Launch launch{.program = arguments[0].c_str(),
                      .arguments = pointers_to(arguments),
                      .environment = pointers_to(environment),
                      .descriptors = {talk == ChildTalk::kText ? other_end : input.raw(),
                                      talk == ChildTalk::kMessages ? errors.raw() : other_end,
                                      talk == ChildTalk::kOutput ? other_end : errors.raw(),
                                      other_end, failure_write.raw()},
                      .parent = ::getpid()};
  Child child;
  child.pid_ = ::fork();
  if (child.pid_ == 0) exec_child(launch);
  if (child.pid_ < 0) return start_failure(command, errno);
  // Parent and child both set the group, because a kill right after the fork must reach it.
  ::setpgid(child.pid_, child.pid_);
  failure_write.close();
  if (const int reason = read_failure(failure_read.raw())) return start_failure(command, reason);
  child.channel_ = std::move(ends.first);
  return child;
}

Child::Child(Child&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), channel_(std::move(other.channel_)) {}

Child& Child::operator=(Child&& other) noexcept {
  if (this == &other) return *this;
  if (started()) kill(std::chrono::seconds(5));
  pid_ = std::exchange(other.pid_, -1);
  channel_ = std::move(other.channel_);
  return *this;
}

Child::~Child() {
  if (started()) kill(std::chrono::seconds(5));
}

std::chrono::nanoseconds Child::cpu_time() const {
  clockid_t clock{};
  timespec had{};
  if (!started() || ::clock_getcpuclockid(pid_, &clock) != 0 || ::clock_gettime(clock, &had) != 0)
    return {};
  return std::chrono::seconds(had.tv_sec) + std::chrono::nanoseconds(had.tv_nsec);
}

std::optional<ChildEnd> Child::kill(std::chrono::milliseconds patience) {
  begin_kill();
  return wait(patience);
}

void Child::begin_kill() const {
  if (started()) ::kill(-pid_, SIGKILL);
}

std::optional<ChildEnd> Child::wait(std::chrono::milliseconds patience) {
  if (!started()) return std::nullopt;
  const auto deadline = Clock::now() + patience;
  for (auto pause = std::chrono::milliseconds(1);;
       pause = std::min(2 * pause, std::chrono::milliseconds(16))) {
    siginfo_t info{};
    // The child is not reaped yet, so that the number of its group cannot be reused.
    const int asked = ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT);
    if (asked == 0 && info.si_pid == pid_) break;
    FATUNE_CHECK(asked == 0 || errno == EINTR, "a child that was not reaped can be waited for");
    if (Clock::now() >= deadline) return std::nullopt;
    std::this_thread::sleep_for(pause);
  }
  ::kill(-pid_, SIGKILL);  // ends processes that the child started
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  if (WIFSIGNALED(status)) return ChildEnd{.signalled = true, .code = WTERMSIG(status)};
  return ChildEnd{.signalled = false, .code = WEXITSTATUS(status)};
}

}  // namespace fatune
