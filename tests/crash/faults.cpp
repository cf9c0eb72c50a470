// faults.cpp: Counts a program's operations on files below a folder; at one of them the process
// dies or the disk fails. The library is preloaded; FATUNE_FAULT=KIND:NUMBER:FOLDER says how, when
// and where.
//
//   count             writes the number of operations to FOLDER.count when the program ends
//   kill-before       SIGKILL in place of the operation; kill-after: behind it
//   kill-within       SIGKILL after half of a write
//   enospc, eio       the operation fails; enospc-half: after half of a write
//   enospc-on         the operation and all later ones fail
//   eintr             the operation fails with EINTR, once, where Linux knows that of it
//   no-locks          the file system has none; NUMBER is of no account
//   clock             from the operation on the time of day is a day earlier
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

namespace {

std::string kind, folder;
long at = 0;
std::atomic<long> operations = 0;

struct Settings {
  Settings() {
    const char* text = std::getenv("FATUNE_FAULT");
    if (text == nullptr) return;
    const std::string all = text;
    const std::size_t first = all.find(':'), second = all.find(':', first + 1);
    kind = all.substr(0, first);
    at = std::atol(all.substr(first + 1, second - first - 1).c_str());
    folder = all.substr(second + 1);
  }
  ~Settings() {
    if (kind != "count") return;
    if (FILE* file = std::fopen((folder + ".count").c_str(), "w")) {
      std::fprintf(file, "%ld\n", operations.load());
      std::fclose(file);
    }
  }
} settings;

bool is_below(const char* path) {
  return !folder.empty() && std::strncmp(path, folder.c_str(), folder.size()) == 0;
}

bool is_below(int descriptor) {
  if (folder.empty()) return false;
  char path[4096];
  const std::string link = "/proc/self/fd/" + std::to_string(descriptor);
  const ssize_t size = ::readlink(link.c_str(), path, sizeof path - 1);
  if (size <= 0) return false;
  path[size] = '\0';
  return is_below(path);
}

bool is_below(int opened, const char* name) {
  return opened == AT_FDCWD || name[0] == '/' ? is_below(name) : is_below(opened);
}

[[noreturn]] void die() {
  ::kill(::getpid(), SIGKILL);
  for (;;) ::pause();
}

/// Runs an operation with its fault: `half` does a part of a write.
template <typename Whole, typename Half>
auto with_fault(bool counts, Whole whole, Half half) -> decltype(whole()) {
  const long number = counts ? ++operations : 0;
  const bool now = counts && number == at;
  const bool since = counts && kind == "enospc-on" && number >= at;
  if (!now && !since) return whole();
  if (kind == "kill-before") die();
  if (kind == "kill-within") half();
  if (kind == "enospc-half") half();
  if (kind == "kill-after") whole();
  if (kind.starts_with("kill-")) die();
  if (kind == "count" || kind == "clock") return whole();
  errno = kind == "eintr" ? EINTR : kind == "eio" ? EIO : ENOSPC;
  return static_cast<decltype(whole())>(-1);
}

template <typename Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

template <typename Whole>
int with_fault(bool counts, Whole whole) {
  return with_fault(counts, whole, [] {});
}

int open_with_fault(int opened, const char* path, int flags, mode_t mode) {
  static const auto real = next<int (*)(int, const char*, int, ...)>("openat");
  const bool writes = (flags & (O_WRONLY | O_RDWR)) != 0;
  return with_fault(writes && is_below(opened, path),
                    [&] { return real(opened, path, flags, mode); });
}

mode_t mode_of(int flags, va_list list) {
  return (flags & O_CREAT) != 0 ? static_cast<mode_t>(va_arg(list, int)) : 0;
}

}  // namespace

extern "C" {

int open(const char* path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  const mode_t mode = mode_of(flags, list);
  va_end(list);
  return open_with_fault(AT_FDCWD, path, flags, mode);
}

int open64(const char* path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  const mode_t mode = mode_of(flags, list);
  va_end(list);
  return open_with_fault(AT_FDCWD, path, flags, mode);
}

int openat(int opened, const char* path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  const mode_t mode = mode_of(flags, list);
  va_end(list);
  return open_with_fault(opened, path, flags, mode);
}

ssize_t write(int descriptor, const void* data, size_t size) {
  static const auto real = next<ssize_t (*)(int, const void*, size_t)>("write");
  return with_fault(
      is_below(descriptor), [&] { return real(descriptor, data, size); },
      [&] { static_cast<void>(!real(descriptor, data, size / 2)); });
}

int flock(int descriptor, int operation) {
  static const auto real = next<int (*)(int, int)>("flock");
  if (kind != "no-locks" || !is_below(descriptor)) return real(descriptor, operation);
  errno = ENOLCK;
  return -1;
}

int fsync(int descriptor) {
  static const auto real = next<int (*)(int)>("fsync");
  return with_fault(is_below(descriptor), [&] { return real(descriptor); });
}

int fdatasync(int descriptor) {
  static const auto real = next<int (*)(int)>("fdatasync");
  return with_fault(is_below(descriptor), [&] { return real(descriptor); });
}

int ftruncate(int descriptor, off_t size) {
  static const auto real = next<int (*)(int, off_t)>("ftruncate");
  return with_fault(is_below(descriptor), [&] { return real(descriptor, size); });
}

int truncate(const char* path, off_t size) {
  static const auto real = next<int (*)(const char*, off_t)>("truncate");
  return with_fault(is_below(path), [&] { return real(path, size); });
}

int renameat(int from_folder, const char* from, int to_folder, const char* to) {
  static const auto real = next<int (*)(int, const char*, int, const char*)>("renameat");
  return with_fault(is_below(to_folder, to) && kind != "eintr",
                    [&] { return real(from_folder, from, to_folder, to); });
}

int unlinkat(int opened, const char* path, int flags) {
  static const auto real = next<int (*)(int, const char*, int)>("unlinkat");
  return with_fault(is_below(opened, path) && kind != "eintr",
                    [&] { return real(opened, path, flags); });
}

int unlink(const char* path) {
  static const auto real = next<int (*)(const char*)>("unlink");
  return with_fault(is_below(path) && kind != "eintr", [&] { return real(path); });
}

int mkdirat(int opened, const char* path, mode_t mode) {
  static const auto real = next<int (*)(int, const char*, mode_t)>("mkdirat");
  return with_fault(is_below(opened, path) && kind != "eintr",
                    [&] { return real(opened, path, mode); });
}

int mkdir(const char* path, mode_t mode) {
  static const auto real = next<int (*)(const char*, mode_t)>("mkdir");
  return with_fault(is_below(path) && kind != "eintr", [&] { return real(path, mode); });
}

int clock_gettime(clockid_t clock, timespec* now) {
  static const auto real = next<int (*)(clockid_t, timespec*)>("clock_gettime");
  const int done = real(clock, now);
  const bool jumped = kind == "clock" && operations >= at && clock == CLOCK_REALTIME;
  if (jumped) now->tv_sec -= 86'400;
  return done;
}

time_t time(time_t* now) {
  timespec precise{};
  clock_gettime(CLOCK_REALTIME, &precise);
  if (now != nullptr) *now = precise.tv_sec;
  return precise.tv_sec;
}

}  // extern "C"
