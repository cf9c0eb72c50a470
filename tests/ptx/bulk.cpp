// bulk.cpp: Executes cp.async.bulk.tensor (TMA) and st.async. Loads complete at an mbarrier; stores
// complete in bulk groups of a thread.
#include <fmt/format.h>

#include "ptx/access.hpp"
#include "ptx/handlers.hpp"
#include "ptx/pending.hpp"

namespace fatune::ptx {
namespace {

using u64 = std::uint64_t;

/// Sixteen bytes of shared memory change places by bits of their address.
u64 swizzled(u64 address, int swizzle) {
  if (swizzle == 128) return address ^ (address >> 3U & 0x70U);
  if (swizzle == 64) return address ^ (address >> 3U & 0x30U);
  if (swizzle == 32) return address ^ (address >> 3U & 0x10U);
  return address;
}

std::size_t box_bytes(const TensorMap& map) {
  std::size_t bytes = map.element_bytes;
  for (const std::int64_t each : map.box) bytes *= static_cast<std::size_t>(each);
  return bytes;
}

enum class Way { kLoad, kStore };

/// A box between its tensor and shared memory, row by row of its fastest dimension.
class BoxCopy {
 public:
  BoxCopy(Machine& machine, Cluster& cluster, const TensorMap& map, std::size_t instruction)
      : machine_(machine), cluster_(cluster), map_(map), instruction_(instruction) {}

  bool run(Way way, const std::array<std::int64_t, 5>& start, u64 shared) {
    const auto& box = map_.box;
    const u64 row_bytes = static_cast<u64>(box[0]) * map_.element_bytes;
    std::array<std::int64_t, 5> at{};
    for (u64 row = 0; row * row_bytes < box_bytes(map_); ++row) {
      u64 rest = row;
      for (std::size_t i = 1; i < box.size(); ++i) {
        at[i] = start[i] + static_cast<std::int64_t>(rest % static_cast<u64>(box[i]));
        rest /= static_cast<u64>(box[i]);
      }
      at[0] = start[0];
      if (!copy_row(way, at, shared + row * row_bytes, row_bytes)) return false;
    }
    ++cluster_.events;
    return true;
  }

 private:
  /// Loads zeros from outside of the tensor, and stores nothing there.
  bool copy_row(Way way, const std::array<std::int64_t, 5>& at, u64 shared, u64 row_bytes) {
    const auto width = static_cast<std::int64_t>(map_.element_bytes);
    bool inside = true;
    u64 address = map_.address;
    for (std::size_t i = 1; i < at.size(); ++i) {
      inside = inside && at[i] >= 0 && at[i] < map_.sizes[i];
      address += static_cast<u64>(at[i] * map_.strides[i]);
    }
    for (u64 done = 0; done < row_bytes; done += 16) {
      std::byte* here = locate_shared(machine_, cluster_, swizzled(shared + done, map_.swizzle), 16,
                                      instruction_);
      if (here == nullptr) return false;
      const std::int64_t first = at[0] * width + static_cast<std::int64_t>(done);
      const std::int64_t begin = std::clamp<std::int64_t>(0, first, first + 16);
      const std::int64_t end = std::clamp<std::int64_t>(map_.sizes[0] * width, begin, first + 16);
      if (way == Way::kLoad) std::memset(here, 0, 16);
      if (!inside || begin >= end) continue;
      const auto bytes = static_cast<std::size_t>(end - begin);
      std::byte* there =
          locate_global(machine_, address + static_cast<u64>(begin), bytes, instruction_);
      if (there == nullptr) return false;
      std::byte* part = here + (begin - first);
      std::memcpy(way == Way::kLoad ? part : there, way == Way::kLoad ? there : part, bytes);
    }
    return true;
  }

  Machine& machine_;
  Cluster& cluster_;
  const TensorMap& map_;
  std::size_t instruction_;
};

bool land(Machine& machine, Cluster& cluster, const PendingLoad& load) {
  if (load.map != nullptr) {
    BoxCopy copy(machine, cluster, *load.map, load.instruction);
    if (!copy.run(Way::kLoad, load.start, load.to)) return false;
  } else {
    std::byte* to = locate_shared(machine, cluster, load.to, load.bytes, load.instruction);
    if (to == nullptr) return false;
    std::memcpy(to, load.values.data(), load.bytes);
  }
  return complete_bytes(machine, cluster, load.barrier, load.bytes, load.instruction);
}

/// Begins a load that completes at an mbarrier: pending, or carried out at once. False: the turn
/// has failed.
bool begin(Turn& turn, const PendingLoad& load) {
  turn.cluster.loads.push_back(load);
  return turn.machine.asynchrony != Asynchrony::kEarly ||
         finish_loads(turn.machine, turn.cluster, load.barrier);
}

/// Generic addresses of shared memory serve as well.
u64 shared_address(const Turn& turn, int operand, int lane) {
  return address_of(turn, operand, lane) & ~kSharedWindow;
}

/// The map that an operand's address names. Null: the turn has failed.
const TensorMap* map_of(const Turn& turn, int operand, int lane) {
  const u64 address = address_of(turn, operand, lane) & ~kParamWindow;
  const auto found = turn.machine.launch.maps.find(address);
  if (found != turn.machine.launch.maps.end()) return &found->second;
  turn.fail("the address of no tensor map");
  return nullptr;
}

/// Empty, or what is wrong with a box's place in shared memory.
std::string place_fault(const TensorMap& map, int rank, u64 shared) {
  const auto inner = map.box[0] * static_cast<std::int64_t>(map.element_bytes);
  if (map.rank != rank) return fmt::format("a tensor map of rank {}", map.rank);
  if (shared % 128 != 0) return "a place in shared memory that is not aligned to 128 bytes";
  if (inner % 16 != 0) return "a box whose rows are no multiple of 16 bytes";
  if (map.swizzle != 0 && inner != map.swizzle)
    return fmt::format("rows of {} bytes in a swizzle of {}", inner, map.swizzle);
  return "";
}

std::array<std::int64_t, 5> coordinates(const Turn& turn, int first, int rank, int lane) {
  std::array<std::int64_t, 5> start{};
  for (int i = 0; i < rank; ++i) {
    const u64 bits = turn.bits_of(turn.at.refs[first + i], lane);
    start[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(bits);
  }
  return start;
}

/// cp.async.bulk.tensor [to], [map, {coordinates}], [barrier].
Step begin_load(Turn& turn) {
  const auto rank = turn.at.detail_as<int>();
  for (Mask rest = turn.mask; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    PendingLoad load;
    load.instruction = turn.index;
    load.to = shared_address(turn, 0, lane);
    load.barrier = shared_address(turn, 2 + rank, lane);
    load.map = map_of(turn, 1, lane);
    if (load.map == nullptr) return Step::kFail;
    const std::string fault = place_fault(*load.map, rank, load.to);
    if (!fault.empty()) return turn.fail(fault);
    load.start = coordinates(turn, 2, rank, lane);
    load.bytes = box_bytes(*load.map);
    if (load.to >> kRankShift != load.barrier >> kRankShift)
      return turn.fail("a box and its barrier in two CTAs");
    if (!begin(turn, load)) return Step::kFail;
  }
  return Step::kNext;
}

/// st.async [to], values, [barrier]: of 4 bytes each. Both are in the same CTA of the cluster.
Step store_async(Turn& turn) {
  const auto count = turn.at.detail_as<int>();
  for (Mask rest = turn.mask; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    PendingLoad store;
    store.instruction = turn.index;
    store.bytes = 4 * static_cast<std::size_t>(count);
    store.to = shared_address(turn, 0, lane);
    store.barrier = shared_address(turn, count + 1, lane);
    if (store.to % store.bytes != 0) return turn.fail("an address that is not aligned");
    if (store.to >> kRankShift != store.barrier >> kRankShift)
      return turn.fail("values and a barrier in two CTAs");
    for (int i = 0; i < count; ++i) {
      const u64 bits = turn.bits_of(turn.at.refs[i + 1], lane);
      std::memcpy(&store.values[4 * static_cast<std::size_t>(i)], &bits, 4);
    }
    if (!begin(turn, store)) return Step::kFail;
  }
  return Step::kNext;
}

/// cp.async.bulk.tensor [map, {coordinates}], [from].
Step begin_store(Turn& turn) {
  const auto rank = turn.at.detail_as<int>();
  for (Mask rest = turn.mask; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    PendingCopy copy;
    copy.lane = lane;
    copy.group = turn.warp.store_group[static_cast<std::size_t>(lane)];
    copy.instruction = turn.index;
    copy.from = shared_address(turn, 1 + rank, lane);
    copy.map = map_of(turn, 0, lane);
    if (copy.map == nullptr) return Step::kFail;
    const std::string fault = place_fault(*copy.map, rank, copy.from);
    if (!fault.empty()) return turn.fail(fault);
    copy.start = coordinates(turn, 1, rank, lane);
    turn.warp.stores.push_back(copy);
    if (turn.machine.asynchrony == Asynchrony::kEarly && !finish_stores(turn, lane, kEveryGroup))
      return Step::kFail;
  }
  return Step::kNext;
}

Step commit(Turn& turn) {
  for_lanes(turn.mask, [&](int lane) { ++turn.warp.store_group[static_cast<std::size_t>(lane)]; });
  return Step::kNext;
}

/// Reading shared memory and writing the tensor are one here, and end at the wait for either.
Step wait(Turn& turn) {
  const std::uint32_t pending = turn.in<std::uint32_t>(0)[0];
  for (Mask rest = turn.mask; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    const std::uint32_t groups = turn.warp.store_group[static_cast<std::size_t>(lane)];
    if (!finish_stores(turn, lane, groups - std::min(groups, pending))) return Step::kFail;
  }
  return Step::kNext;
}

}  // namespace

bool finish_loads(Machine& machine, Cluster& cluster, std::uint64_t barrier) {
  const auto due = [&](const PendingLoad& load) { return load.barrier == barrier; };
  return finish(cluster.loads, due,
                [&](const PendingLoad& load) { return land(machine, cluster, load); });
}

bool finish_stores(Turn& turn, int lane, std::uint32_t before) {
  const auto due = [&](const PendingCopy& copy) {
    return copy.lane == lane && copy.group < before;
  };
  return finish(turn.warp.stores, due, [&](const PendingCopy& store) {
    BoxCopy copy(turn.machine, turn.cluster, *store.map, store.instruction);
    return copy.run(Way::kStore, store.start, store.from);
  });
}

bool finish_all(Turn& turn) {
  for (int lane = 0; lane < kLanes; ++lane) {
    if (!finish_copies(turn, lane, kEveryGroup) || !finish_stores(turn, lane, kEveryGroup))
      return false;
  }
  return finish_products(turn, kEveryGroup);
}

std::optional<Meaning> bulk_meaning(const Parts& parts) {
  if (parts.size() > 3 && parts[0] == "st" && parts[1] == "async") {
    const std::span<const std::string> rest = std::span(parts).subspan(2);
    if (!only(rest, {"weak", "shared::cluster", "mbarrier::complete_tx::bytes", "v2", "v4", "b32",
                     "u32", "s32", "f32"}))
      return std::nullopt;
    const int count = has(parts, "v4") ? 4 : has(parts, "v2") ? 2 : 1;
    return Meaning{store_async, Collective::kNone, 0, detail(count)};
  }
  if (parts.size() < 4 || parts[0] != "cp" || parts[1] != "async" || parts[2] != "bulk")
    return std::nullopt;
  if (parts[3] == "commit_group") return Meaning{commit};
  if (parts[3] == "wait_group") return Meaning{wait};
  if (parts.size() < 8 || parts[3] != "tensor" || parts[4].size() != 2 || parts[4][1] != 'd')
    return std::nullopt;
  const int rank = parts[4][0] - '0';
  const bool loads = parts[5].starts_with("shared::") && parts[6] == "global";
  const bool stores = parts[5] == "global" && parts[6] == "shared::cta";
  const std::span<const std::string> rest = std::span(parts).subspan(7);
  if (!only(rest, {"tile", "mbarrier::complete_tx::bytes", "bulk_group"})) return std::nullopt;
  if (loads) return Meaning{begin_load, Collective::kNone, 0, detail(rank)};
  if (stores) return Meaning{begin_store, Collective::kNone, 0, detail(rank)};
  return std::nullopt;
}

}  // namespace fatune::ptx
