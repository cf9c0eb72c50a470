// run_program.cpp - starts a program, reads what it prints with an eye on clock and Ctrl-C.
#include "core/run_program.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/interrupt.hpp"

namespace fatune {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kGlance{200};        // how soon Ctrl-C is noticed
constexpr std::size_t kMostText = std::size_t{1} << 26;  // chosen: a disassembly takes megabytes

/// Adds what has arrived within `patience` to `text`; false at the end of all output.
bool read_some(int descriptor, std::chrono::milliseconds patience, std::string& text) {
  pollfd wanted{descriptor, POLLIN, 0};
  if (::poll(&wanted, 1, static_cast<int>(patience.count())) <= 0) return true;
  std::array<char, 1 << 14> chunk;
  const ssize_t count = ::recv(descriptor, chunk.data(), chunk.size(), 0);
  if (count < 0) return errno == EINTR;
  const std::size_t room = kMostText - text.size();
  text.append(chunk.data(), std::min(static_cast<std::size_t>(count), room));
  return count > 0;
}

}  // namespace

Result<ProgramRun> run_program(ChildCommand command, std::chrono::milliseconds patience) {
  command.talk = ChildTalk::kOutput;
  command.stderr_file.clear();
  FATUNE_TRY(Child child, Child::start(command));
  ProgramRun run;
  const auto deadline = Clock::now() + patience;
  bool open = true;
  while (!run.end && Clock::now() < deadline) {
    if (interrupted()) {
      child.kill();
      return Error{ErrorKind::kInterrupted,
                   "interrupted while " + command.program.string() + " ran"};
    }
    // Its children may keep the output open after its end.
    if (open) open = read_some(child.channel().descriptor(), kGlance, run.text);
    run.end = child.wait(open ? std::chrono::milliseconds(0) : kGlance);
  }
  if (!run.end) child.kill();
  while (open && child.channel().descriptor() >= 0) {
    const std::size_t before = run.text.size();
    open = read_some(child.channel().descriptor(), std::chrono::milliseconds(0), run.text);
    if (run.text.size() == before) break;
  }
  return run;
}

std::optional<std::filesystem::path> find_program(const std::string& name,
                                                  std::span<const std::filesystem::path> folders) {
  const auto usable = [](const std::filesystem::path& file) {
    std::error_code ignored;
    return std::filesystem::is_regular_file(file, ignored) && ::access(file.c_str(), X_OK) == 0;
  };
  const auto absolute = [](const std::filesystem::path& file) {
    std::error_code ignored;
    return std::filesystem::absolute(file, ignored);
  };
  if (name.find('/') != std::string::npos)
    return usable(name) ? std::optional(absolute(name)) : std::nullopt;
  for (const auto& folder : folders) {
    if (usable(folder / name)) return absolute(folder / name);
  }
  return std::nullopt;
}

}  // namespace fatune
