// attempts.hpp: Tries hostile actions in a worker process and names those that succeed.
#pragma once

#include <cstdlib>
#include <string>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace attempts {

inline bool makes_socket(int family) {
  const int made = ::socket(family, SOCK_STREAM, 0);
  return made >= 0 && ::close(made) == 0;
}

inline bool opens(const std::string& path, int flags) {
  const int opened = ::open(path.c_str(), flags, 0600);
  return opened >= 0 && ::close(opened) == 0;
}

/// Runs the attempt in a child process, whose exit code 0 means success.
template <typename Work>
bool can(Work work) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(work() ? 0 : 1);
  int status = 1;
  return child > 0 && ::waitpid(child, &status, 0) == child && status == 0;
}

inline bool starts_program() {
  return can([] { return ::execl("/bin/true", "true", nullptr) == 0; });
}

/// Opens a memory file of the parent, as the PyTorch helper opens tensors.
inline bool shares_memory() {
  const int memory = ::memfd_create("attempts", 0);
  const std::string path = "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(memory);
  return memory >= 0 && can([&] { return opens(path, O_RDWR); }) && ::close(memory) == 0;
}

/// Tries the folders of TMPDIR and of FATUNE_FOREIGN, which fatune does not know.
inline std::string succeeded() {
  const auto in = [](const char* variable, const char* file) {
    const char* folder = std::getenv(variable);
    return std::string(folder == nullptr ? "/nonexistent" : folder) + "/" + file;
  };
  std::string all;
  const auto note = [&](bool could, const char* what) {
    all += could ? std::string(" ") + what : "";
  };
  note(makes_socket(AF_INET) || makes_socket(AF_INET6), "inet");
  note(makes_socket(AF_UNIX), "unix");
  note(starts_program(), "exec");
  note(can([] { return ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) == 0; }), "ptrace");
  note(opens(in("FATUNE_FOREIGN", "secret"), O_RDONLY), "read");
  note(opens(in("FATUNE_FOREIGN", "secret"), O_WRONLY), "change");
  note(opens(in("FATUNE_FOREIGN", "new"), O_WRONLY | O_CREAT), "write");
  note(::unlink(in("FATUNE_FOREIGN", "victim").c_str()) == 0, "remove");
  note(::truncate(in("FATUNE_FOREIGN", "secret").c_str(), 0) == 0, "truncate");
  note(opens(in("TMPDIR", "new"), O_WRONLY | O_CREAT), "temporary");
  ::mkdir(in("TMPDIR", "folder").c_str(), 0700);
  note(::rename(in("TMPDIR", "new").c_str(), in("TMPDIR", "folder/new").c_str()) == 0, "move");
  note(opens("/dev/null", O_RDWR), "device");
  note(shares_memory(), "memory");
  note(std::getenv("SECRET_TOKEN") != nullptr, "token");
  return all;
}

}  // namespace attempts
