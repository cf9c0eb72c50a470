// shard.hpp - --shard to a part of a plan: typed, or taken from the scheduler that started this.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "core/result.hpp"
#include "model/results/journal.hpp"

namespace fatune::cli {

/// The value of an environment variable; empty where it is not set.
using ReadVariable = std::function<std::string(const char* name)>;

struct ShardChoice {
  std::uint64_t number = 1, of = 1;  ///< number from 1
};
/// "2/4"; "auto" by the variables of a Slurm array or step; "auto/4" also by the index that
/// Kubernetes gives a pod of an indexed job, where nothing says how many there are.
Result<ShardChoice> parse_shard(const std::string& text, const ReadVariable& variable);

/// The part of a plan's problems that --shard names; nothing without it. A usage error for plans
/// that need all problems in one run.
Result<std::optional<Shard>> resolve_shard(const std::string& text, const RunPlan& plan);

}  // namespace fatune::cli
