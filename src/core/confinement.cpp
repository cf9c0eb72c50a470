// confinement.cpp: Confines a process with a Landlock ruleset and a seccomp filter.
#include "core/confinement.hpp"

#include <cerrno>
#include <cstdint>
#include <span>

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/landlock.h>
#include <seccomp.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/descriptor.hpp"

namespace fatune {
namespace {

// ---- Landlock: files, and from ABI 4 on TCP -----------------------------------------------------

// From linux/landlock.h, because Debian 12's has ABI 2 only.
constexpr std::uint64_t kTruncate = 1U << 14;          // from ABI 3
constexpr std::uint64_t kDeviceControl = 1U << 15;     // from ABI 5
constexpr std::uint64_t kTcp = 3;                      // bind, connect; from ABI 4
constexpr std::uint64_t kSocketsAndSignals = 3;        // abstract sockets, signals; from ABI 6
constexpr std::uint64_t kAbi1Rights = (1U << 13) - 1;  // all rights of ABI 1

constexpr std::uint64_t kReading = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
constexpr std::uint64_t kFileRights =
    LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_READ_FILE | kTruncate;
constexpr std::uint64_t kWriting =
    (kAbi1Rights & ~kReading & ~std::uint64_t{LANDLOCK_ACCESS_FS_EXECUTE}) |
    LANDLOCK_ACCESS_FS_REFER | kTruncate;

/// landlock_ruleset_attr as of ABI 6.
struct Ruleset {
  std::uint64_t files, network, scopes;
};

std::size_t known_size(int abi) {
  return (abi >= 6 ? 3 : abi >= 4 ? 2 : 1) * sizeof(std::uint64_t);
}

std::uint64_t known_rights(int abi) {
  std::uint64_t rights = kAbi1Rights;
  if (abi >= 2) rights |= LANDLOCK_ACCESS_FS_REFER;
  if (abi >= 3) rights |= kTruncate;
  if (abi >= 5) rights |= kDeviceControl;
  return rights;
}

int landlock_abi() {
  const long abi =
      ::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  return abi > 0 ? static_cast<int>(abi) : 0;
}

void allow(const Descriptor& ruleset, const std::vector<std::filesystem::path>& places,
           std::uint64_t rights) {
  for (const auto& place : places) {
    const Descriptor opened(::open(place.c_str(), O_PATH | O_CLOEXEC));
    struct stat found {};
    if (!opened.open() || ::fstat(opened.raw(), &found) != 0) continue;
    landlock_path_beneath_attr rule{};
    // The kernel refuses a rule without rights.
    rule.allowed_access = S_ISDIR(found.st_mode) ? rights : rights & kFileRights;
    rule.parent_fd = opened.raw();
    static_cast<void>(
        ::syscall(SYS_landlock_add_rule, ruleset.raw(), LANDLOCK_RULE_PATH_BENEATH, &rule, 0));
  }
}

/// Removes the rights of `taken` from the process, except below the folders.
void restrict_to(const ConfinedFolders& folders, const Ruleset& taken) {
  const Descriptor ruleset(static_cast<int>(::syscall(
      SYS_landlock_create_ruleset, &taken, known_size(landlock_abi()), std::uint32_t{0})));
  if (!ruleset.open()) return;
  allow(ruleset, folders.readable, taken.files & kReading);
  allow(ruleset, folders.writable, taken.files & (kReading | kWriting));
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0)
    static_cast<void>(::syscall(SYS_landlock_restrict_self, ruleset.raw(), 0));
}

// ---- seccomp: system calls ----------------------------------------------------------------------

// System calls that look into other processes or change the system. io_uring opens sockets unseen.
constexpr int kAlwaysRefused[] = {
#ifndef __SANITIZE_ADDRESS__  // its leak search traces its own threads
    SCMP_SYS(ptrace),
#endif
    SCMP_SYS(acct),
    SCMP_SYS(add_key),
    SCMP_SYS(bpf),
    SCMP_SYS(delete_module),
    SCMP_SYS(finit_module),
    SCMP_SYS(fsmount),
    SCMP_SYS(fsopen),
    SCMP_SYS(init_module),
    SCMP_SYS(io_uring_setup),
    SCMP_SYS(kexec_file_load),
    SCMP_SYS(kexec_load),
    SCMP_SYS(keyctl),
    SCMP_SYS(mount),
    SCMP_SYS(mount_setattr),
    SCMP_SYS(move_mount),
    SCMP_SYS(open_tree),
    SCMP_SYS(pivot_root),
    SCMP_SYS(reboot),
    SCMP_SYS(request_key),
    SCMP_SYS(setns),
    SCMP_SYS(swapoff),
    SCMP_SYS(swapon),
    SCMP_SYS(umount2)};
// Also refused for compile workers, which start no program and talk to their parent only.
constexpr int kRefusedForCompilers[] = {SCMP_SYS(accept),
                                        SCMP_SYS(accept4),
                                        SCMP_SYS(bind),
                                        SCMP_SYS(connect),
                                        SCMP_SYS(execve),
                                        SCMP_SYS(execveat),
                                        SCMP_SYS(listen),
                                        SCMP_SYS(perf_event_open),
                                        SCMP_SYS(pidfd_getfd),
                                        SCMP_SYS(process_vm_readv),
                                        SCMP_SYS(process_vm_writev),
                                        SCMP_SYS(socket),
                                        SCMP_SYS(unshare),
                                        SCMP_SYS(userfaultfd)};

bool has_seccomp() {
  const std::uint32_t wanted = SECCOMP_RET_ERRNO;
  return ::syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &wanted) == 0;
}

/// A seccomp filter that allows everything except the refused calls.
class Filter {
 public:
  Filter() : context_(::seccomp_init(SCMP_ACT_ALLOW)) {
    // Calls of another architecture (32 bits) would bypass the numbers below.
    ::seccomp_attr_set(context_, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO(EPERM));
    ::seccomp_attr_set(context_, SCMP_FLTATR_CTL_TSYNC, 1);
    // Without this attribute, Linux before 5.16 disables speculation for filtered processes, which
    // slows compilers.
    ::seccomp_attr_set(context_, SCMP_FLTATR_CTL_SSB, 1);
  }
  Filter(const Filter&) = delete;
  Filter& operator=(const Filter&) = delete;
  ~Filter() { ::seccomp_release(context_); }

  void refuse(std::span<const int> calls) {
    for (const int call : calls) ::seccomp_rule_add(context_, SCMP_ACT_ERRNO(EPERM), call, 0);
  }
  /// Refuses sockets as a kernel without these networks does. The kernel compares the lower 32 bits
  /// only.
  void refuse_networks() {
    for (unsigned family = 0; family < AF_MAX; ++family) {
      if (family == AF_UNIX || family == AF_NETLINK) continue;
      const scmp_arg_cmp is_this{0, SCMP_CMP_MASKED_EQ, 0xffffffffU, family};
      ::seccomp_rule_add_array(context_, SCMP_ACT_ERRNO(EAFNOSUPPORT), SCMP_SYS(socket), 1,
                               &is_this);
    }
  }
  void load() { ::seccomp_load(context_); }

 private:
  scmp_filter_ctx context_;
};

}  // namespace

Confinement confinement_here() { return {landlock_abi(), has_seccomp()}; }

std::string describe(const Confinement& confinement) {
  return fmt::format("{}, {}",
                     confinement.landlock > 0 ? fmt::format("landlock ABI {}", confinement.landlock)
                                              : "no landlock",
                     confinement.seccomp ? "seccomp" : "no seccomp");
}

void confine(const ConfinedFolders& folders) {
  restrict_to(folders, {known_rights(landlock_abi()), kTcp, kSocketsAndSignals});
  Filter filter;
  filter.refuse(kAlwaysRefused);
  filter.refuse(kRefusedForCompilers);
  filter.load();
}

void confine_writing(const std::vector<std::filesystem::path>& folders) {
  restrict_to({{}, folders}, {known_rights(landlock_abi()) & kWriting, 0, 0});
  Filter filter;
  filter.refuse(kAlwaysRefused);
  filter.refuse_networks();
  filter.load();
}

}  // namespace fatune
