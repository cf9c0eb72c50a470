// copy.cpp: Executes cp.async: copies of 4 to 16 bytes to shared memory, in groups of a thread.
#include "ptx/access.hpp"
#include "ptx/handlers.hpp"
#include "ptx/pending.hpp"

namespace fatune::ptx {
namespace {

/// cp.async [to], [from], bytes{, source bytes or predicate to ignore the source}.
Step begin_copy(Turn& turn) {
  const auto bytes = turn.in<std::uint32_t>(2);
  const bool has_source = turn.at.count > 3;
  const bool ignores = has_source && turn.at.refs[3].bits == 1;
  const Mask ignored = ignores ? turn.predicate(3) : 0;
  for (Mask rest = turn.mask; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    PendingCopy copy;
    copy.lane = lane;
    copy.group = turn.warp.copy_group[static_cast<std::size_t>(lane)];
    copy.instruction = turn.index;
    copy.to = address_of(turn, 0, lane);
    copy.from = address_of(turn, 1, lane);
    copy.bytes = copy.source_bytes = bytes[static_cast<std::size_t>(lane)];
    if (has_source && !ignores) copy.source_bytes = turn.bits_of(turn.at.refs[3], lane);
    if ((ignored >> lane & 1U) != 0) copy.source_bytes = 0;
    if (copy.to % copy.bytes != 0 || copy.from % copy.bytes != 0)
      return turn.fail("addresses that are not aligned to the bytes that are copied");
    turn.warp.copies.push_back(copy);
    if (turn.machine.asynchrony == Asynchrony::kEarly && !finish_copies(turn, lane, kEveryGroup))
      return Step::kFail;
  }
  return Step::kNext;
}

Step commit(Turn& turn) {
  for_lanes(turn.mask, [&](int lane) { ++turn.warp.copy_group[static_cast<std::size_t>(lane)]; });
  return Step::kNext;
}

template <bool kAll>
Step wait(Turn& turn) {
  const std::uint32_t pending = kAll ? 0 : turn.in<std::uint32_t>(0)[0];
  for (Mask rest = turn.mask; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    const std::uint32_t groups = turn.warp.copy_group[static_cast<std::size_t>(lane)];
    const std::uint32_t before = kAll ? kEveryGroup : groups - std::min(groups, pending);
    if (!finish_copies(turn, lane, before)) return Step::kFail;
  }
  return Step::kNext;
}

}  // namespace

bool finish_copies(Turn& turn, int lane, std::uint32_t before) {
  const auto due = [&](const PendingCopy& copy) {
    return copy.lane == lane && copy.group < before;
  };
  return finish(turn.warp.copies, due, [&](const PendingCopy& copy) {
    std::byte* to =
        locate_shared(turn.machine, turn.cluster, copy.to, copy.bytes, copy.instruction);
    if (to == nullptr) return false;
    std::memset(to, 0, copy.bytes);
    ++turn.cluster.events;
    if (copy.source_bytes == 0) return true;
    const std::byte* from =
        locate_global(turn.machine, copy.from, copy.source_bytes, copy.instruction);
    if (from != nullptr) std::memcpy(to, from, copy.source_bytes);
    return from != nullptr;
  });
}

void add_copy(Table& table) {
  for (const char* shared : {"shared", "shared::cta"}) {
    for (const char* cache : {"ca", "cg"}) {
      for (const char* ahead : {"", ".L2::64B", ".L2::128B", ".L2::256B"})
        table[std::string("cp.async.") + cache + "." + shared + ".global" + ahead] = {begin_copy};
    }
  }
  table["cp.async.commit_group"] = {commit};
  table["cp.async.wait_group"] = {wait<false>};
  table["cp.async.wait_all"] = {wait<true>};
}

}  // namespace fatune::ptx
