// mbarrier.cpp: Executes mbarriers, which count arrivals and copied bytes in shared memory.
#include <fmt/format.h>

#include "ptx/access.hpp"
#include "ptx/handlers.hpp"
#include "ptx/pending.hpp"

namespace fatune::ptx {
namespace {

using u64 = std::uint64_t;

/// As it lies in its 8 bytes: arrivals to come and arrivals of a phase in 20 bits each, bytes to
/// come in 22, the phase's parity.
struct Counts {
  static constexpr u64 kMost = (1U << 20U) - 1;  ///< also what memory has that nobody initialised
  static constexpr std::int64_t kBytesBias = 1 << 21;
  u64 pending = 0, expected = 0;
  std::int64_t bytes = 0;
  u64 parity = 0;

  static Counts of(u64 word) {
    return {word & kMost, word >> 20U & kMost,
            static_cast<std::int64_t>(word >> 40U & ((1U << 22U) - 1)) - kBytesBias,
            word >> 62U & 1U};
  }
  u64 word() const {
    return pending | expected << 20U | static_cast<u64>(bytes + kBytesBias) << 40U | parity << 62U;
  }
  /// The next phase, if this one has all it waits for.
  void settle() {
    if (pending != 0 || bytes != 0) return;
    pending = expected;
    parity ^= 1U;
  }
};

/// A barrier of a lane's address, read and, by save(), written.
struct Place {
  std::byte* at = nullptr;  ///< null: the turn has failed
  Counts counts;

  void save() const {
    const u64 word = counts.word();
    std::memcpy(at, &word, sizeof word);
  }
};

Place place(const Turn& turn, u64 address, int lane) {
  Place found{locate(turn, Space::kShared, address, 8, lane), {}};
  if (found.at == nullptr) return found;
  u64 word = 0;
  std::memcpy(&word, found.at, sizeof word);
  found.counts = Counts::of(word);
  if (found.counts.expected != 0 && found.counts.expected < Counts::kMost) return found;
  turn.fail("no barrier was initialised there");
  return {};
}

/// Generic addresses of shared memory serve as well.
u64 barrier_address(const Turn& turn, int operand, int lane) {
  const u64 address = address_of(turn, operand, lane);
  return address >> 56U == kSharedWindow >> 56U ? address - kSharedWindow : address;
}

Step initialise(Turn& turn) {
  const auto arrivals = turn.in<std::uint32_t>(1);
  for (Mask rest = turn.mask; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    const u64 count = arrivals[static_cast<std::size_t>(lane)];
    std::byte* at = locate(turn, Space::kShared, barrier_address(turn, 0, lane), 8, lane);
    if (at == nullptr) return Step::kFail;
    if (count == 0 || count >= Counts::kMost) return turn.fail("a barrier of no arrivals");
    Place{at, {count, count, 0, 0}}.save();
  }
  ++turn.cluster.events;
  return Step::kNext;
}

/// mbarrier.arrive{.expect_tx} state, [barrier]{, count or bytes}.
Step arrive(Turn& turn) {
  const bool expects = turn.at.detail != 0;
  const bool has_number = turn.at.count > 2;
  for (Mask rest = turn.mask; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    Place found = place(turn, barrier_address(turn, 1, lane), lane);
    if (found.at == nullptr) return Step::kFail;
    Counts& counts = found.counts;
    const u64 number = has_number ? turn.bits_of(turn.at.refs[2], lane) & 0xffffffffU : 1;
    if (!turn.at.refs[0].sink) turn.set(turn.at.refs[0], lane, counts.parity);
    if (expects) counts.bytes += static_cast<std::int64_t>(number);
    const u64 arrivals = expects ? 1 : number;
    if (arrivals > counts.pending) return turn.fail("more arrivals than the barrier expects");
    counts.pending -= arrivals;
    counts.settle();
    found.save();
  }
  ++turn.cluster.events;
  return Step::kNext;
}

/// mbarrier.try_wait{.parity} p, [barrier], parity or state: whether that phase has ended.
Step poll(Turn& turn) {
  Mask ended = 0;
  for (Mask rest = turn.mask; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    const u64 address = barrier_address(turn, 1, lane);
    const u64 parity = turn.bits_of(turn.at.refs[2], lane) & 1U;
    Place found = place(turn, address, lane);
    if (found.at == nullptr) return Step::kFail;
    if (found.counts.parity == parity) {
      if (!finish_loads(turn.machine, turn.cluster, address)) return Step::kFail;
      found = place(turn, address, lane);
    }
    if (found.counts.parity != parity) ended |= Mask{1} << lane;
  }
  turn.set_predicate(turn.at.refs[0], ended);
  return (turn.mask & ~ended) == 0 ? Step::kNext : Step::kYield;
}

}  // namespace

bool complete_bytes(Machine& machine, Cluster& cluster, std::uint64_t barrier, std::size_t bytes,
                    std::size_t instruction) {
  std::byte* at = locate_shared(machine, cluster, barrier, 8, instruction);
  if (at == nullptr) return false;
  u64 word = 0;
  std::memcpy(&word, at, sizeof word);
  Counts counts = Counts::of(word);
  counts.bytes -= static_cast<std::int64_t>(bytes);
  counts.settle();
  word = counts.word();
  std::memcpy(at, &word, sizeof word);
  ++cluster.events;
  return true;
}

std::optional<Meaning> mbarrier_meaning(const Parts& parts) {
  if (parts[0] != "mbarrier" || parts.size() < 3) return std::nullopt;
  const std::span<const std::string> rest = std::span(parts).subspan(2);
  if (!only(rest, {"expect_tx", "parity", "release", "acquire", "relaxed", "cta", "cluster",
                   "shared", "shared::cta", "shared::cluster", "b64"}))
    return std::nullopt;
  const std::string& name = parts[1];
  if (name == "init") return Meaning{initialise};
  if (name == "arrive") return Meaning{arrive, Collective::kNone, 0, has(parts, "expect_tx")};
  if (name == "try_wait") return Meaning{poll};
  return std::nullopt;
}

}  // namespace fatune::ptx
