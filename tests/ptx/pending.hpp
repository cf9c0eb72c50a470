// pending.hpp: Holds asynchronous work that was issued and has not completed.
#pragma once

#include "ptx/machine.hpp"

namespace fatune::ptx {

// Each is false when the work leaves its memory; the machine has a problem then.

/// cp.async of a lane, of groups before `before`.
bool finish_copies(Turn& turn, int lane, std::uint32_t before);
/// Bulk stores of a lane, of groups before `before`.
bool finish_stores(Turn& turn, int lane, std::uint32_t before);
/// wgmma of the warp, of groups before `before`.
bool finish_products(Turn& turn, std::uint32_t before);
/// Bulk loads that will complete at a barrier.
bool finish_loads(Machine& machine, Cluster& cluster, std::uint64_t barrier);

/// All that is left of a warp that has exited.
bool finish_all(Turn& turn);

/// Takes bytes that have arrived off a barrier's count.
bool complete_bytes(Machine& machine, Cluster& cluster, std::uint64_t barrier, std::size_t bytes,
                    std::size_t instruction);

inline constexpr std::uint32_t kEveryGroup = ~std::uint32_t{0};

/// Finishes those entries of a list for which `which` holds, in order.
template <typename Entry, typename Which, typename Work>
bool finish(std::vector<Entry>& list, const Which& which, const Work& work) {
  std::vector<Entry> due, left;
  for (Entry& entry : list) (which(entry) ? due : left).push_back(entry);
  if (due.empty()) return true;
  list = std::move(left);
  for (const Entry& entry : due) {
    if (!work(entry)) return false;
  }
  return true;
}

}  // namespace fatune::ptx
