// child.hpp: Declares a child process that is reliably ended, for workers and other programs.
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

/// Connection between a child and its parent.
enum class ChildTalk {
  kMessages,  ///< a Channel on descriptor 3; stdin is empty, stdout goes to stderr
  kText,      ///< stdin and stdout are the peer of channel().descriptor(), for any program
  kOutput     ///< stdout and stderr are the peer of channel().descriptor(), stdin is empty
};

struct ChildCommand {
  std::filesystem::path program;  ///< usually executable_path()
  std::vector<std::string> arguments{};
  std::vector<std::string> extra_environment{};  ///< "NAME=value"
  /// Variables that the child inherits: "HOME", or "LC_*" for a prefix. Empty: all variables.
  std::span<const std::string_view> inherited{};
  std::filesystem::path stderr_file{};  ///< empty: inherited
  ChildTalk talk = ChildTalk::kMessages;
};

/// Exit status or signal of a child.
struct ChildEnd {
  bool signalled = false;
  int code = 0;  ///< exit status or signal number
};
std::string describe(const ChildEnd& end);

/// A process in its own process group. The kernel kills it when the starting thread ends
/// (PR_SET_PDEATHSIG), so the starting thread should live as long as the child.
class Child {
 public:
  static constexpr int kChannelDescriptor = 3;  ///< descriptor number in the child

  Child() = default;
  Child(Child&& other) noexcept;
  Child& operator=(Child&& other) noexcept;
  ~Child();  ///< kills a running child

  static Result<Child> start(const ChildCommand& command);
  Channel& channel() { return channel_; }
  pid_t pid() const { return pid_; }
  bool started() const { return pid_ > 0; }
  /// Returns the time that the process has had of a core; 0 if it has ended.
  std::chrono::nanoseconds cpu_time() const;
  /// Sends SIGKILL to the group and waits. Empty if the process is still there after `patience`,
  /// for example stuck in the driver.
  std::optional<ChildEnd> kill(std::chrono::milliseconds patience = std::chrono::seconds(30));
  /// Sends SIGKILL without waiting; wait() or kill() must follow to reap the process.
  void begin_kill() const;
  /// Waits for the child to exit by itself.
  std::optional<ChildEnd> wait(std::chrono::milliseconds patience);

 private:
  pid_t pid_ = -1;
  Channel channel_;
};

}  // namespace fatune
