// grid.cpp: Starts clusters, schedules their warps in turn, and detects deadlocks.
#include "ptx/grid.hpp"

#include <algorithm>
#include <list>
#include <map>

#include <fmt/format.h>

#include "ptx/warp_run.hpp"

namespace fatune::ptx {
namespace {

// Chosen: rounds in which a cluster's warps run but change nothing that others could wait for,
// before it has to wait until something else changes. A spin on a load is that, and so would be
// some 200,000 instructions of a warp between two stores.
constexpr int kQuietRounds = 10;
constexpr std::uint64_t kMostSteps = 4'000'000'000;  // chosen: some minutes

std::uint64_t product(const std::array<std::uint32_t, 3>& extent) {
  return std::uint64_t{extent[0]} * extent[1] * extent[2];
}

std::array<std::uint32_t, 3> split_index(std::uint64_t index,
                                         const std::array<std::uint32_t, 3>& extent) {
  return {static_cast<std::uint32_t>(index % extent[0]),
          static_cast<std::uint32_t>(index / extent[0] % extent[1]),
          static_cast<std::uint32_t>(index / extent[0] / extent[1])};
}

class Grid {
 public:
  explicit Grid(Machine& machine) : machine_(machine), launch_(machine.launch) {
    for (std::size_t i = 0; i < 3; ++i) clusters_[i] = launch_.grid[i] / launch_.cluster[i];
  }

  Status run() {
    while (next_ < product(clusters_) || !running_.empty()) {
      if (next_ < product(clusters_)) begin(next_++);
      if (!sweep()) return device_error(machine_.problem);
    }
    return {};
  }

 private:
  void begin(std::uint64_t index) {
    Cluster& cluster = running_.emplace_back().cluster;
    const auto at = split_index(index, clusters_);
    cluster.ctas.resize(product(launch_.cluster));
    for (std::size_t rank = 0; rank < cluster.ctas.size(); ++rank) {
      Cta& cta = cluster.ctas[rank];
      const auto within = split_index(rank, launch_.cluster);
      cta.rank = static_cast<int>(rank);
      for (std::size_t i = 0; i < 3; ++i) cta.id[i] = at[i] * launch_.cluster[i] + within[i];
      begin(cta);
    }
  }

  void begin(Cta& cta) {
    cta.shared.assign(machine_.program.dynamic_shared + launch_.shared_bytes, std::byte{0xff});
    const std::uint64_t threads = product(launch_.block);
    cta.warps.resize((threads + kLanes - 1) / kLanes);
    for (std::size_t i = 0; i < cta.warps.size(); ++i) {
      Warp& warp = cta.warps[i];
      warp.index = static_cast<int>(i);
      const std::uint64_t lanes = std::min<std::uint64_t>(threads - i * kLanes, kLanes);
      warp.live = lanes == kLanes ? kAllLanes : (Mask{1} << lanes) - 1;
      prepare(machine_, cta, warp);
    }
  }

  /// Every cluster that runs, until it has ended or is stuck; one that was stuck only if something
  /// has changed since. False: a problem.
  bool sweep() {
    bool ran = false;
    for (auto each = running_.begin(); each != running_.end();) {
      if (each->stuck_at != changes_) {
        const std::uint64_t before = each->cluster.events;
        if (!run_cluster(each->cluster)) return false;
        changes_ += each->cluster.events - before;
        each->stuck_at = changes_;
        ran = true;
      }
      each = ended(each->cluster) ? running_.erase(each) : std::next(each);
    }
    if (ran || running_.empty() || next_ < product(clusters_)) return true;
    machine_.problem = "threads wait for each other:" + places();
    return false;
  }

  /// Rounds of its warps' turns, until nothing changes any more.
  bool run_cluster(Cluster& cluster) {
    for (int quiet = 0; quiet < kQuietRounds && !ended(cluster);) {
      const std::uint64_t events = cluster.events, steps = machine_.steps;
      for (Cta& cta : cluster.ctas) {
        for (Warp& warp : cta.warps) {
          if (warp.state == Warp::State::kReady && !run_warp(machine_, cluster, cta, warp))
            return false;
        }
      }
      if (machine_.steps > kMostSteps) {
        machine_.problem = "the grid does not come to an end:" + places();
        return false;
      }
      if (machine_.steps == steps) return true;
      quiet = cluster.events == events ? quiet + 1 : 0;
    }
    return true;
  }

  static bool ended(const Cluster& cluster) {
    return std::all_of(cluster.ctas.begin(), cluster.ctas.end(), [](const Cta& cta) {
      return std::all_of(cta.warps.begin(), cta.warps.end(),
                         [](const Warp& warp) { return warp.state == Warp::State::kDone; });
    });
  }

  /// A line for each instruction at which threads stand.
  std::string places() const {
    struct Crowd {
      int threads = 0;
      std::string first;
    };
    std::map<std::uint32_t, Crowd> crowds;
    const auto add = [&](const Cta& cta, const Warp& warp, int lane) {
      Crowd& crowd = crowds[stands_at(warp, lane)];
      if (crowd.threads++ > 0) return;
      const auto& [x, y, z] = cta.id;
      crowd.first = fmt::format("CTA ({}, {}, {}), warp {}, lane {}", x, y, z, warp.index, lane);
    };
    for (const Running& each : running_) {
      for (const Cta& cta : each.cluster.ctas) {
        for (const Warp& warp : cta.warps)
          for_lanes(warp.live, [&](int lane) { add(cta, warp, lane); });
      }
    }
    std::string text;
    for (const auto& [at, crowd] : crowds)
      text += fmt::format("\n  {}: {} threads, the first of them {}", machine_.program.place(at),
                          crowd.threads, crowd.first);
    return text;
  }

  Machine& machine_;
  const Launch& launch_;
  std::array<std::uint32_t, 3> clusters_{};
  std::uint64_t next_ = 0;
  std::uint64_t changes_ = 1;  ///< events of all clusters
  struct Running {
    Cluster cluster;
    std::uint64_t stuck_at = 0;  ///< changes when it could not go on
  };
  std::list<Running> running_;
};

}  // namespace

Status run_grid(const Program& program, const Launch& launch, Memory& memory, Asynchrony asynchrony,
                std::uint64_t* products) {
  Machine machine{program, launch, memory, asynchrony, "", 0, 0, 0};
  for (std::size_t i = 0; i < 3; ++i) {
    if (launch.grid[i] == 0 || launch.cluster[i] == 0 || launch.grid[i] % launch.cluster[i] != 0)
      return device_error("the grid is no multiple of the cluster");
  }
  const Status run = Grid(machine).run();
  if (products != nullptr) *products += machine.products;
  return run;
}

}  // namespace fatune::ptx
