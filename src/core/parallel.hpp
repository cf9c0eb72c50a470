// parallel.hpp - a range of indices to pieces that run on several threads.
#pragma once

#include <cstddef>
#include <functional>

namespace fatune {

/// Work on the indices from `begin` up to `end`.
using RangeWork = std::function<void(std::size_t begin, std::size_t end)>;

/// Cuts [0, count) into neighbouring pieces of at least `least` indices, at most one for each
/// hardware thread, and returns when all are done. Pieces share nothing but what `work` shares, so
/// a result that depends on an index alone is the same for any number of threads. Runs in the
/// caller's thread when there is one piece, or when no other comes in time. Several threads may
/// call it at once, and `work` may.
void parallel_for(std::size_t count, std::size_t least, const RangeWork& work);

}  // namespace fatune
