// parallel.hpp: Declares loops over a range of indices on several threads.
#pragma once

#include <cstddef>
#include <functional>

namespace fatune {

/// Work on the indices from `begin` up to `end`.
using RangeWork = std::function<void(std::size_t begin, std::size_t end)>;

/// Splits [0, count) into pieces of at least `least` indices, at most one per hardware thread, and
/// returns when all are done. Results that depend only on an index are independent of the number of
/// threads. A single piece runs in the caller's thread, as do pieces that no other thread takes.
/// Concurrent and nested calls are allowed.
void parallel_for(std::size_t count, std::size_t least, const RangeWork& work);

}  // namespace fatune
