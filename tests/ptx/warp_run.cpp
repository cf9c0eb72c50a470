// warp_run.cpp: Picks the threads of a warp that share a position, and executes instructions.
#include "ptx/warp_run.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "ptx/barrier.hpp"
#include "ptx/pending.hpp"

namespace fatune::ptx {
namespace {

constexpr int kTurnSteps = 20'000;  // chosen: a spin costs little, switching less

std::uint32_t coordinate(std::uint64_t index, const std::array<std::uint32_t, 3>& extent,
                         int axis) {
  if (axis == 0) return static_cast<std::uint32_t>(index % extent[0]);
  if (axis == 1) return static_cast<std::uint32_t>(index / extent[0] % extent[1]);
  return static_cast<std::uint32_t>(index / extent[0] / extent[1]);
}

std::uint32_t lane_mask(int axis, int lane) {
  const std::uint32_t own = 1U << lane, below = own - 1;
  const std::uint32_t masks[] = {own, below, below | own, ~(below | own), ~below};
  return masks[axis];
}

std::uint64_t preset_value(const Machine& machine, const Cta& cta, const Warp& warp,
                           const Preset& preset, int lane) {
  const Launch& launch = machine.launch;
  const auto axis = static_cast<std::size_t>(preset.axis);
  const auto thread = static_cast<std::uint64_t>(warp.index * kLanes + lane);
  switch (preset.kind) {
    case Preset::Kind::kTid:
      return coordinate(thread, launch.block, preset.axis);
    case Preset::Kind::kNtid:
      return launch.block[axis];
    case Preset::Kind::kCtaid:
      return cta.id[axis];
    case Preset::Kind::kNctaid:
      return launch.grid[axis];
    case Preset::Kind::kLane:
      return static_cast<std::uint64_t>(lane);
    case Preset::Kind::kWarp:
      return static_cast<std::uint64_t>(warp.index);
    case Preset::Kind::kLaneMask:
      return lane_mask(preset.axis, lane);
    case Preset::Kind::kClusterId:
      return cta.id[axis] / launch.cluster[axis];
    case Preset::Kind::kClusterCount:
      return launch.grid[axis] / launch.cluster[axis];
    case Preset::Kind::kClusterCta:
      return cta.id[axis] % launch.cluster[axis];
    case Preset::Kind::kClusterSize:
      return launch.cluster[axis];
    case Preset::Kind::kClusterRank:
      return static_cast<std::uint64_t>(cta.rank);
    case Preset::Kind::kClusterRanks:
      return std::uint64_t{launch.cluster[0]} * launch.cluster[1] * launch.cluster[2];
    case Preset::Kind::kZero:
      return 0;
    case Preset::Kind::kShared:
      return static_cast<std::uint64_t>(cta.rank) << kRankShift | preset.address;
    case Preset::Kind::kOther:
      return preset.address;
  }
  return 0;
}

class WarpTurn {
 public:
  WarpTurn(Machine& machine, Cluster& cluster, Cta& cta, Warp& warp)
      : machine_(machine), cluster_(cluster), cta_(cta), warp_(warp) {}

  bool run() {
    warp_.yielded = 0;
    for (steps_ = 0; steps_ < kTurnSteps && warp_.state == Warp::State::kReady;) {
      if (!choose()) break;
      if (!advance()) return false;
    }
    machine_.steps += static_cast<std::uint64_t>(steps_);
    return true;
  }

 private:
  /// The threads at the first instruction among those that can go on.
  bool choose() {
    const Mask ready = warp_.live & ~warp_.parked & ~warp_.yielded;
    if (ready == 0) return false;
    pc_ = ~0U;
    for_lanes(ready, [&](int lane) { pc_ = std::min(pc_, pc_of(lane)); });
    active_ = 0;
    for_lanes(warp_.live,
              [&](int lane) { active_ |= static_cast<Mask>(pc_of(lane) == pc_) << lane; });
    return true;
  }
  std::uint32_t& pc_of(int lane) { return warp_.pc[static_cast<std::size_t>(lane)]; }
  void keep_pc() {
    for_lanes(active_, [&](int lane) { pc_of(lane) = pc_; });
  }

  /// Until the threads part, meet others, wait or have had their share. False: a failure.
  bool advance() {
    const auto& code = machine_.program.instructions;
    while (steps_++ < kTurnSteps) {
      if (pc_ >= code.size()) return fail("the entry's end without ret");
      const Instruction& at = code[pc_];
      Turn turn{machine_, cluster_, cta_, warp_, active_, pc_, at};
      if (at.guarded) turn.mask &= turn.predicate(at.guard);
      if (at.handler == nullptr) {
        if (!branch(turn.mask, at.target)) return true;
        continue;
      }
      if (at.collective != Collective::kNone && !gathered(turn)) return true;
      if (turn.mask != 0) {
        if (!warp_.products.empty() && touches_products(turn)) return false;
        const Step step = at.handler(turn);
        if (step == Step::kFail) return false;
        if (step != Step::kNext) return stop(step, turn);
      }
      ++pc_;
      if (active_ != warp_.live) {
        keep_pc();
        return true;
      }
    }
    keep_pc();
    return true;
  }

  bool fail(const std::string& why) {
    machine_.problem = machine_.program.place(pc_) + ": " + why;
    return false;
  }

  /// Whether the same threads go on together.
  bool branch(Mask taken, std::uint32_t target) {
    if (active_ == warp_.live && (taken == active_ || taken == 0)) {
      pc_ = taken == 0 ? pc_ + 1 : target;
      return true;
    }
    for_lanes(active_,
              [&](int lane) { pc_of(lane) = (taken >> lane & 1U) != 0 ? target : pc_ + 1; });
    return false;
  }

  /// Whether all are there without whom the instruction cannot be carried out; else they wait.
  bool gathered(const Turn& turn) {
    Mask needed = warp_.live;
    if (turn.at.collective == Collective::kMembers && turn.mask != 0) {
      const int lane = std::countr_zero(turn.mask);
      needed &= static_cast<Mask>(turn.bits_of(turn.at.refs[turn.at.members], lane));
    }
    if ((needed & ~active_) == 0) {
      warp_.parked &= ~active_;
      return true;
    }
    keep_pc();
    warp_.parked |= active_;
    return false;
  }

  /// Results of wgmma may be neither read nor written before the wait.
  bool touches_products(const Turn& turn) {
    const std::string& opcode = machine_.program.statements[pc_].opcode;
    if (opcode.starts_with("wgmma")) return false;
    for (std::uint16_t i = 0; i < turn.at.count; ++i) {
      const Ref& ref = turn.at.refs[i];
      if (ref.sink || ref.slot < 0 || !warp_.in_flight[static_cast<std::size_t>(ref.slot)])
        continue;
      turn.fail(fmt::format("operand {} is an accumulator of a wgmma that was not waited for", i));
      return true;
    }
    return false;
  }

  bool stop(Step step, Turn& turn) {
    ++pc_;
    keep_pc();
    if (step == Step::kYield) warp_.yielded |= active_;
    if (step != Step::kExit) return true;
    warp_.live &= ~turn.mask;
    warp_.parked = 0;  // who waited for these threads need not
    ++cluster_.events;
    if (warp_.live != 0) return true;
    warp_.state = Warp::State::kDone;
    turn.mask = kAllLanes;
    const bool finished = finish_all(turn);
    settle_barriers(cluster_, cta_);
    return finished;
  }

  Machine& machine_;
  Cluster& cluster_;
  Cta& cta_;
  Warp& warp_;
  std::uint32_t pc_ = 0;
  Mask active_ = 0;
  int steps_ = 0;
};

}  // namespace

void prepare(const Machine& machine, const Cta& cta, Warp& warp) {
  constexpr std::uint32_t kGarbage = ~0U;  // NaN in every type
  warp.registers.assign(machine.program.units * kLanes, kGarbage);
  warp.local.assign(machine.program.local_bytes * kLanes, std::byte{0xff});
  for (const Preset& preset : machine.program.presets) {
    std::uint32_t* words = &warp.registers[static_cast<std::size_t>(preset.to.slot) * kLanes];
    for (int lane = 0; lane < kLanes; ++lane) {
      const std::uint64_t value = preset_value(machine, cta, warp, preset, lane);
      if (preset.to.bits == 64) {
        std::memcpy(words + std::ptrdiff_t{2} * lane, &value, sizeof value);
      } else {
        words[lane] = static_cast<std::uint32_t>(value);
      }
    }
  }
}

bool run_warp(Machine& machine, Cluster& cluster, Cta& cta, Warp& warp) {
  return WarpTurn(machine, cluster, cta, warp).run();
}

std::uint32_t stands_at(const Warp& warp, int lane) {
  const bool behind = warp.state == Warp::State::kBarrier || warp.state == Warp::State::kCluster ||
                      (warp.yielded >> lane & 1U) != 0;
  return warp.pc[static_cast<std::size_t>(lane)] - (behind ? 1 : 0);
}

}  // namespace fatune::ptx
