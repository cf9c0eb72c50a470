// shard.hpp: Resolves --shard, typed or from the scheduler's variables, to a part of a plan.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "core/result.hpp"
#include "model/results/journal.hpp"

namespace fatune::cli {

/// Reads an environment variable; empty if it is not set.
using ReadVariable = std::function<std::string(const char* name)>;

struct ShardChoice {
  std::uint64_t number = 1, of = 1;  ///< `number` counts from 1
};
/// Parses "2/4". "auto" reads the variables of a Slurm array or step. "auto/4" also reads the index
/// of a pod of a Kubernetes indexed job, which gives no count.
Result<ShardChoice> parse_shard(const std::string& text, const ReadVariable& variable);

/// Part of a plan's problems that --shard names; nothing without --shard. Refuses plans that need
/// all problems in one run.
Result<std::optional<Shard>> resolve_shard(const std::string& text, const RunPlan& plan);

}  // namespace fatune::cli
