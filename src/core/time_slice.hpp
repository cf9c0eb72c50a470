// time_slice.hpp: Declares the scheduling time slice of threads on a busy host.
#pragma once

#include <chrono>
#include <optional>

namespace fatune {

/// Sets the time slice of this thread and of all threads and processes that it starts. With a
/// shorter slice a thread runs sooner after it wakes, and is preempted sooner; its share of a core
/// stays. Linux supports 0.1 to 100 ms from 6.12 on. Elsewhere, and for threads with another
/// scheduling policy (chrt), the call has no effect.
void set_time_slice(std::chrono::microseconds slice);
/// Empty if the system does not report the slice.
std::optional<std::chrono::microseconds> time_slice();

}  // namespace fatune
