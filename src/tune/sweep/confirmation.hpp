// confirmation.hpp - final phases of one problem on several GPUs to the config they agree on.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "model/results/sweep_result.hpp"
#include "tune/sweep/best.hpp"
#include "tune/sweep/shard_runs.hpp"

namespace fatune {

/// A problem's final phase on one GPU.
struct PhaseOnGpu {
  Environment environment;
  std::vector<FinalRecord> finals;
};

/// The phase that belongs to the search comes first. Each GPU names its best as a sweep does, which
/// also met the edge problems there; empty when none of those is correct on all GPUs.
std::optional<FleetWinner> agree(const std::vector<PhaseOnGpu>& phases,
                                 const std::string& objective, std::uint64_t seed);

/// Adds to a merged run what runs of the same shards on other GPUs found in their final phases. A
/// problem whose GPUs agree on nothing keeps its best, with a warning. Two final phases of a
/// problem on one GPU are a usage error.
Status confirm(const std::vector<ShardRun>& searched, const std::vector<ShardRun>& again,
               Journal& merged, BestFile& best);

}  // namespace fatune
