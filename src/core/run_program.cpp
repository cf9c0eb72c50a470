// run_program.cpp: Runs programs with a deadline and Ctrl-C, for their text or line by line.
#include "core/run_program.hpp"

#include <algorithm>
#include <system_error>

#include <signal.h>
#include <unistd.h>

#include "core/interrupt.hpp"

namespace fatune {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kInterruptPeriod{200};  // between checks for Ctrl-C; chosen
constexpr std::size_t kMostText = std::size_t{1} << 26;     // chosen: a disassembly takes megabytes

constexpr std::chrono::milliseconds kGracePeriod{300};  // for a program to exit by itself; chosen
/// Chosen far above any line: a longer one means that the program does not write lines.
constexpr std::size_t kLongestLine = std::size_t{1} << 24;
constexpr Peer kProgram{ErrorKind::kDevice, "it", "it closed its stdout"};

/// Adds bytes that arrive within `patience` to `text`; false at the end of all output.
bool read_some(int descriptor, std::chrono::milliseconds patience, std::string& text) {
  const auto read = receive_some(descriptor, Clock::now() + patience, kProgram, text);
  text.resize(std::min(text.size(), kMostText));
  return static_cast<bool>(read);
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
    // Children of the program may keep the output open after its end.
    if (open) open = read_some(child.channel().descriptor(), kInterruptPeriod, run.text);
    run.end = child.wait(open ? std::chrono::milliseconds(0) : kInterruptPeriod);
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

Result<LineProcess> LineProcess::start(ChildCommand command) {
  command.talk = ChildTalk::kText;
  LineProcess process;
  FATUNE_TRY(process.child_, Child::start(command));
  return process;
}

Status LineProcess::send(std::string_view line) {
  return send_all(child_.channel().descriptor(), std::string(line) + "\n", kProgram);
}

Result<std::optional<std::string>> LineProcess::receive(std::chrono::milliseconds patience) {
  const auto deadline = Clock::now() + patience;
  for (;;) {
    if (const std::size_t end = buffer_.find('\n'); end != std::string::npos) {
      std::string line = buffer_.substr(0, end);
      buffer_.erase(0, end + 1);
      return std::optional(std::move(line));
    }
    if (buffer_.size() > kLongestLine) return device_error("it sends no ends of lines");
    FATUNE_TRY(const bool arrived,
               receive_some(child_.channel().descriptor(), deadline, kProgram, buffer_));
    if (!arrived) return std::optional<std::string>();
  }
}

ChildEnd LineProcess::stop() {
  auto end = child_.wait(kGracePeriod);
  if (!end) end = child_.kill();
  *this = LineProcess();
  return end.value_or(ChildEnd{.signalled = true, .code = SIGKILL});
}

}  // namespace fatune
