// time_slice.cpp: Calls sched_setattr, for which Debian 12's C library has no function.
#include "core/time_slice.hpp"

#include <cstdint>

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace fatune {
namespace {

/// The kernel's struct sched_attr (sched_setattr(2)); `runtime` is in nanoseconds.
struct Attributes {
  std::uint32_t size = sizeof(Attributes), policy = SCHED_OTHER;
  std::uint64_t flags = 0;
  std::int32_t niceness = 0;
  std::uint32_t priority = 0;
  std::uint64_t runtime = 0, deadline = 0, period = 0;
};

std::optional<Attributes> attributes() {
  Attributes found;
  const long failed = ::syscall(SYS_sched_getattr, 0, &found, sizeof(found), 0);
  return failed == 0 ? std::optional(found) : std::nullopt;
}

}  // namespace

void set_time_slice(std::chrono::microseconds slice) {
  std::optional<Attributes> asked = attributes();
  if (!asked || asked->policy != SCHED_OTHER) return;
  asked->runtime = static_cast<std::uint64_t>(std::chrono::nanoseconds(slice).count());
  // If the kernel refuses, the time slice stays.
  static_cast<void>(::syscall(SYS_sched_setattr, 0, &*asked, 0));
}

std::optional<std::chrono::microseconds> time_slice() {
  const std::optional<Attributes> found = attributes();
  if (!found || found->policy != SCHED_OTHER || found->runtime == 0) return std::nullopt;
  return std::chrono::duration_cast<std::chrono::microseconds>(
      std::chrono::nanoseconds(found->runtime));
}

}  // namespace fatune
