// barrier.cpp: Executes named CTA barriers and the cluster barrier; whole warps arrive.
#include "ptx/barrier.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "ptx/handlers.hpp"

namespace fatune::ptx {
namespace {

std::uint32_t live_threads(const Cta& cta) {
  std::uint32_t threads = 0;
  for (const Warp& warp : cta.warps) threads += warp.live != 0 ? kLanes : 0;
  return threads;
}

void release(Cluster& cluster, Cta& cta, Barrier& barrier) {
  for (const Barrier::Waiting& each : barrier.waiting) {
    Warp& warp = cta.warps[static_cast<std::size_t>(each.warp)];
    warp.state = Warp::State::kReady;
    if (each.result.sink) continue;
    warp.registers[static_cast<std::size_t>(each.result.slot) * kLanes] =
        barrier.any ? kAllLanes : 0;
  }
  barrier = {};
  ++cluster.events;
}

bool complete(const Cta& cta, const Barrier& barrier) {
  const std::uint32_t expected = barrier.expected != 0 ? barrier.expected : live_threads(cta);
  return barrier.arrived >= expected;
}

/// The operands at `first` are the barrier and, if there is one more, the number of threads.
Step arrive(Turn& turn, int first, bool counted, const Barrier::Waiting* waiting) {
  const std::uint32_t id = turn.in<std::uint32_t>(first)[0];
  if (id >= turn.cta.barriers.size()) return turn.fail(fmt::format("barrier {}", id));
  Barrier& barrier = turn.cta.barriers[id];
  const std::uint32_t expected = counted ? turn.in<std::uint32_t>(first + 1)[0] : 0;
  if (barrier.arrived > 0 && expected != barrier.expected)
    return turn.fail(fmt::format("barrier {} of {} threads, of which others expect {}", id,
                                 expected, barrier.expected));
  if (expected % kLanes != 0) return turn.fail("a number of threads that is no multiple of 32");
  barrier.expected = expected;
  barrier.arrived += kLanes;
  ++turn.cluster.events;
  if (waiting != nullptr) {
    barrier.waiting.push_back(*waiting);
    turn.warp.state = Warp::State::kBarrier;
  }
  if (complete(turn.cta, barrier)) release(turn.cluster, turn.cta, barrier);
  return turn.warp.state == Warp::State::kReady ? Step::kNext : Step::kBlock;
}

Step synchronise(Turn& turn) {
  const Barrier::Waiting waiting{turn.warp.index, {.sink = true}};
  return arrive(turn, 0, turn.at.count > 1, &waiting);
}

Step only_arrive(Turn& turn) { return arrive(turn, 0, turn.at.count > 1, nullptr); }

/// bar.red.or p, barrier{, threads}, q.
Step reduce(Turn& turn) {
  const Mask holds = turn.predicate(turn.at.count - 1);
  const std::uint32_t id = turn.in<std::uint32_t>(1)[0];
  if (id < turn.cta.barriers.size()) {
    Barrier& barrier = turn.cta.barriers[id];
    barrier.any = barrier.any || (holds & turn.mask) != 0;
  }
  const Barrier::Waiting waiting{turn.warp.index, turn.at.refs[0]};
  return arrive(turn, 1, turn.at.count > 3, &waiting);
}

std::uint32_t live_warps(const Cluster& cluster) {
  std::uint32_t count = 0;
  for (const Cta& cta : cluster.ctas) {
    for (const Warp& warp : cta.warps) count += warp.live != 0 ? 1 : 0;
  }
  return count;
}

/// The warps that arrived in this phase, and those of the phase before that still wait.
void settle_cluster(Cluster& cluster) {
  if (cluster.arrived == 0 || cluster.arrived < live_warps(cluster)) return;
  cluster.arrived = 0;
  ++cluster.phase;
  ++cluster.events;
  for (Cta& cta : cluster.ctas) {
    for (Warp& warp : cta.warps) {
      if (warp.state == Warp::State::kCluster) warp.state = Warp::State::kReady;
    }
  }
}

Step cluster_arrive(Turn& turn) {
  turn.warp.cluster_phase = turn.cluster.phase;
  ++turn.cluster.arrived;
  ++turn.cluster.events;
  settle_cluster(turn.cluster);
  return Step::kNext;
}

Step cluster_wait(Turn& turn) {
  if (turn.cluster.phase != turn.warp.cluster_phase) return Step::kNext;
  turn.warp.state = Warp::State::kCluster;
  return Step::kBlock;
}

}  // namespace

void settle_barriers(Cluster& cluster, Cta& cta) {
  for (Barrier& barrier : cta.barriers) {
    if (!barrier.waiting.empty() && barrier.expected == 0 && complete(cta, barrier))
      release(cluster, cta, barrier);
  }
  settle_cluster(cluster);
}

void add_barrier(Table& table) {
  constexpr auto kWarp = Collective::kWarp;
  for (const char* name : {"bar.sync", "barrier.sync", "barrier.sync.aligned", "bar.cta.sync",
                           "barrier.cta.sync", "barrier.cta.sync.aligned"})
    table[name] = {synchronise, kWarp};
  for (const char* name : {"bar.arrive", "barrier.arrive", "barrier.arrive.aligned",
                           "bar.cta.arrive", "barrier.cta.arrive", "barrier.cta.arrive.aligned"})
    table[name] = {only_arrive, kWarp};
  for (const char* name : {"bar.red", "barrier.red", "barrier.cta.red.aligned"})
    table[std::string(name) + ".or.pred"] = {reduce, kWarp};
  for (const char* aligned : {"", ".aligned"}) {
    for (const char* order : {"", ".release", ".relaxed"})
      table[std::string("barrier.cluster.arrive") + order + aligned] = {cluster_arrive, kWarp};
    for (const char* order : {"", ".acquire"})
      table[std::string("barrier.cluster.wait") + order + aligned] = {cluster_wait, kWarp};
  }
}

}  // namespace fatune::ptx
