// parallel.hpp: Declares loops over a range of indices on several threads, and their time slice.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>

namespace fatune {

/// Work on the indices from `begin` up to `end`.
using RangeWork = std::function<void(std::size_t begin, std::size_t end)>;

/// Splits [0, count) into pieces of at least `least` indices, at most one per hardware thread, and
/// returns when all are done. Results that depend only on an index are independent of the number of
/// threads. A single piece runs in the caller's thread, as do pieces that no other thread takes.
/// Concurrent and nested calls are allowed.
void parallel_for(std::size_t count, std::size_t least, const RangeWork& work);

/// Sets the time slice of this thread and of all threads and processes that it starts. With a
/// shorter slice a thread runs sooner after it wakes, and is preempted sooner; its share of a core
/// stays. Linux supports 0.1 to 100 ms from 6.12 on. Elsewhere, and for threads with another
/// scheduling policy (chrt), the call has no effect.
void set_time_slice(std::chrono::microseconds slice);
/// Empty if the system does not report the slice.
std::optional<std::chrono::microseconds> time_slice();

}  // namespace fatune
