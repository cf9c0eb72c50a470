// child.hpp - starts this program again as a worker process, or another, and ends it for sure.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "core/channel.hpp"

namespace fatune {

/// How a child and its parent talk.
enum class ChildTalk {
  kMessages,  ///< a Channel on descriptor 3; stdin is empty, stdout is joined to stderr
  kText,      ///< stdin and stdout are the other end of channel().descriptor(), for any program
  kOutput     ///< stdout and stderr are that, stdin is empty
};

struct ChildCommand {
  std::filesystem::path program;  ///< usually executable_path()
  std::vector<std::string> arguments{};
  std::vector<std::string> extra_environment{};  ///< "NAME=value"
  /// Variables of this process that the child gets, too: "HOME", or "LC_*" for all that begin so.
  /// Empty: all of them.
  std::span<const std::string_view> inherited{};
  std::filesystem::path stderr_file{};  ///< empty: inherited
  ChildTalk talk = ChildTalk::kMessages;
};

/// How a child ended.
struct ChildEnd {
  bool signalled = false;
  int code = 0;  ///< exit status or signal number
};
std::string describe(const ChildEnd& end);

/// A process in its own process group. Dies with the thread that started it (PR_SET_PDEATHSIG), so
/// start it from one that lasts.
class Child {
 public:
  static constexpr int kChannelDescriptor = 3;  ///< in the child

  Child() = default;
  Child(Child&& other) noexcept;
  Child& operator=(Child&& other) noexcept;
  ~Child();  ///< kills what still runs

  static Result<Child> start(const ChildCommand& command);
  Channel& channel() { return channel_; }
  pid_t pid() const { return pid_; }
  bool started() const { return pid_ > 0; }
  /// SIGKILL to the group and wait; no value when it is still there after `patience` (a process
  /// stuck in the driver).
  std::optional<ChildEnd> kill(std::chrono::milliseconds patience = std::chrono::seconds(30));
  /// The same without waiting: wait() or kill() later, so that nothing of it is left.
  void begin_kill() const;
  /// Waits for an end of its own accord.
  std::optional<ChildEnd> wait(std::chrono::milliseconds patience);

 private:
  pid_t pid_ = -1;
  Channel channel_;
};

}  // namespace fatune
