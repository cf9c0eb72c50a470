// proposer.cpp: Asks a command within limits, or answers from a transcript.
#include "evolve/proposers/proposer.hpp"

#include <array>
#include <cerrno>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>

#include "core/child.hpp"
#include "core/file.hpp"
#include "core/interrupt.hpp"
#include "core/log.hpp"
#include "core/text.hpp"
#include "core/units.hpp"
#include "evolve/proposers/guard.hpp"
#include "evolve/run/ledger.hpp"

namespace fatune {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kPollPause{100};  // polling period for an interrupt
constexpr std::chrono::seconds kGuardTimeout{20};     // time for a guard to end many processes
constexpr std::chrono::milliseconds kExitPause{500};  // time for a program to exit after its answer
constexpr std::uintmax_t kLongestErrors = 16U << 20U;  // maximum bytes of stderr per request

/// Sends and receives at once, because a program may answer before it has read its whole input.
class Exchange {
 public:
  Exchange(int socket, const std::string& request) : socket_(socket), request_(request + "\n") {
    ::fcntl(socket_, F_SETFL, ::fcntl(socket_, F_GETFL) | O_NONBLOCK);
  }

  bool done() const { return ended_ || too_long() || has_line(); }
  bool has_line() const { return line_end() != std::string::npos; }
  bool too_long() const { return (has_line() ? line_end() : answer_.size()) > kLongestAnswer; }
  std::string line() const { return answer_.substr(0, line_end()); }

  void step() {
    pollfd wanted{socket_, POLLIN, 0};
    if (sent_ < request_.size()) wanted.events |= POLLOUT;
    if (::poll(&wanted, 1, static_cast<int>(kPollPause.count())) <= 0) return;
    if ((wanted.revents & POLLOUT) != 0 && sent_ < request_.size()) send_some();
    if ((wanted.revents & (POLLIN | POLLHUP | POLLERR)) != 0) receive_some();
  }

 private:
  std::size_t line_end() const { return answer_.find('\n'); }

  void send_some() {
    const ssize_t count =
        ::send(socket_, request_.data() + sent_, request_.size() - sent_, MSG_NOSIGNAL);
    if (count > 0) sent_ += static_cast<std::size_t>(count);
    // A program that closes its stdin early may still answer.
    if (count < 0 && errno != EAGAIN && errno != EINTR) sent_ = request_.size();
    if (sent_ == request_.size()) ::shutdown(socket_, SHUT_WR);
  }

  void receive_some() {
    std::array<char, 1 << 16> chunk;
    const ssize_t count = ::recv(socket_, chunk.data(), chunk.size(), 0);
    if (count > 0) answer_.append(chunk.data(), static_cast<std::size_t>(count));
    if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR)) ended_ = true;
  }

  int socket_;
  std::string request_, answer_;
  std::size_t sent_ = 0;
  bool ended_ = false;
};

/// Limits the bytes that a proposer adds to the file of its stderr.
class ErrorsOfRequest {
 public:
  explicit ErrorsOfRequest(const std::filesystem::path& file)
      : file_(file), most_(size() + kLongestErrors) {}
  ErrorsOfRequest(const ErrorsOfRequest&) = delete;
  ErrorsOfRequest& operator=(const ErrorsOfRequest&) = delete;
  ~ErrorsOfRequest() {
    std::error_code ignored;
    if (too_long()) std::filesystem::resize_file(file_, most_, ignored);
  }

  bool too_long() const { return size() > most_; }

 private:
  std::uintmax_t size() const {
    std::error_code none;
    const auto size = std::filesystem::file_size(file_, none);
    return none ? 0 : size;
  }

  const std::filesystem::path& file_;
  std::uintmax_t most_;
};

/// Stops the guard after it has had time to end its descendants. SIGCONT wakes a stopped guard.
ChildEnd end_guard(Child& guard) {
  ::kill(guard.pid(), SIGTERM);
  ::kill(guard.pid(), SIGCONT);
  auto end = guard.wait(kGuardTimeout);
  if (!end) end = guard.kill();
  return end.value_or(ChildEnd{.signalled = true, .code = SIGKILL});
}

bool beyond_limits(const ChildEnd& end) {
  return end.signalled && (end.code == kGuardTooMany || end.code == kGuardTooLarge);
}

std::string words_of(const ChildEnd& end, const ProposerLimits& limits) {
  if (!beyond_limits(end))
    return fmt::format("the proposer gave no answer: it ended with {}", describe(end));
  if (end.code == kGuardTooMany)
    return fmt::format("the proposer was ended: it had more than {} processes", limits.processes);
  return fmt::format("the proposer was ended: it used more than {}",
                     describe(Bytes(static_cast<std::uint64_t>(limits.memory_bytes))));
}

/// Returns whether the shell did not find the command or may not execute it.
bool not_started(const ChildEnd& end) {
  constexpr int kMayNot = 126, kNotFound = 127;
  return !end.signalled && (end.code == kMayNot || end.code == kNotFound);
}

class CommandProposer final : public Proposer {
 public:
  CommandProposer(std::string command, const ProposerLimits& limits, std::filesystem::path errors)
      : command_(std::move(command)), limits_(limits), errors_(std::move(errors)) {}

  Result<ProposerAnswer> ask(std::int64_t, const std::string& request) override {
    ChildCommand start;
    start.program = executable_path();
    start.arguments = guard_arguments(command_, limits_);
    start.stderr_file = errors_;
    start.talk = ChildTalk::kText;
    const Adoption adoption;
    FATUNE_TRY(Child guard, Child::start(start));
    const auto deadline = Clock::now() + limits_.answer;
    const ErrorsOfRequest errors(errors_);
    Exchange exchange(guard.channel().descriptor(), request);
    while (!exchange.done()) {
      if (interrupted()) {
        end_guard(guard);
        return Error{ErrorKind::kInterrupted, "interrupted while a proposer was asked"};
      }
      if (Clock::now() >= deadline) {
        end_guard(guard);
        return failed(
            fmt::format("the proposer gave no answer within {} s", limits_.answer.count()));
      }
      if (errors.too_long()) {
        end_guard(guard);
        return failed(fmt::format("the proposer wrote more than {} to stderr",
                                  describe(Bytes(kLongestErrors))));
      }
      exchange.step();
    }
    return concluded(exchange, guard);
  }

 private:
  static ProposerAnswer failed(std::string why) { return {.line = "", .failure = std::move(why)}; }

  Result<ProposerAnswer> concluded(const Exchange& exchange, Child& guard) {
    if (exchange.too_long()) {
      end_guard(guard);
      return failed(
          fmt::format("the proposer's line has more than {}", describe(Bytes(kLongestAnswer))));
    }
    auto end = guard.wait(kExitPause);
    if (!end) end = end_guard(guard);
    std::string line = exchange.line();
    const bool silent = trim(line).empty();
    if (silent && !ran_ && not_started(*end)) {
      return usage_error(fmt::format("--proposer '{}': the shell cannot start it ({}); {} has why",
                                     command_, describe(*end), errors_.string()));
    }
    ran_ = true;
    const bool cut = !exchange.has_line() && beyond_limits(*end);
    if (silent || cut) return failed(words_of(*end, limits_));
    return ProposerAnswer{.line = std::move(line), .failure = ""};
  }

  std::string command_;
  ProposerLimits limits_;
  std::filesystem::path errors_;
  bool ran_ = false;
};

class ReplayProposer final : public Proposer {
 public:
  ReplayProposer(std::vector<TranscriptEntry> entries, std::string where)
      : entries_(std::move(entries)), where_(std::move(where)) {}

  Result<ProposerAnswer> ask(std::int64_t number, const std::string& request) override {
    if (number >= std::ssize(entries_)) {
      return file_error(
          fmt::format("{}: has {} answers, and another one is wanted", where_, entries_.size()));
    }
    const TranscriptEntry& entry = entries_[static_cast<std::size_t>(number)];
    if (entry.request != request && !warned_) {
      log::warn(
          fmt::format("{}: request {} is not the one that was answered then: times or "
                      "options differ",
                      where_, entry.ask));
      warned_ = true;
    }
    return ProposerAnswer{.line = entry.answer, .failure = entry.failure};
  }

 private:
  std::vector<TranscriptEntry> entries_;
  std::string where_;
  bool warned_ = false;
};

}  // namespace

std::unique_ptr<Proposer> make_command_proposer(std::string command, const ProposerLimits& limits,
                                                const std::filesystem::path& errors) {
  return std::make_unique<CommandProposer>(std::move(command), limits, errors);
}

Result<std::unique_ptr<Proposer>> make_replay_proposer(const std::filesystem::path& transcript) {
  FATUNE_TRY(auto entries, load_transcript(transcript));
  return std::unique_ptr<Proposer>(
      std::make_unique<ReplayProposer>(std::move(entries), transcript.string()));
}

}  // namespace fatune
