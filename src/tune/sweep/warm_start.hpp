// warm_start.hpp: Finds configs of other runs that a search of a problem tries first.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "model/kernel/kernel.hpp"
#include "model/results/journal.hpp"

namespace fatune {

/// Returns the distance between two problems; 0 for equal problem and architecture. Each doubling
/// of batch * heads or of a length counts 1, of the head dim 4, of the query heads per key/value
/// head 1. Another mask counts 1, another layout 0.25. Another element type counts 1, and 3 with
/// another size. Another architecture counts 2, another generation 6.
double distance(const Problem& a, const Arch& a_arch, const Problem& b, const Arch& b_arch);

/// Number of known configs of a kernel that begin a search; chosen: half of the smallest spread
/// start.
inline constexpr std::size_t kWarmStarts = 4;

/// Returns the configs of a kernel without repetition, nearest problem first.
std::vector<SavedConfig> nearest_known(const std::vector<SavedConfig>& known,
                                       const std::string& kernel, const Problem& problem,
                                       const Arch& arch);

/// Returns the configs of these kernels for exactly this problem and architecture.
std::vector<SavedConfig> known_exactly(const std::vector<SavedConfig>& known,
                                       const std::vector<std::string>& kernels,
                                       const Problem& problem, const Arch& arch);

/// Updates configs of earlier kernel versions: adds defaults of missing parameters and drops
/// removed ones.
void complete_configs(const std::vector<KernelRef>& kernels, std::vector<SavedConfig>& known);

/// Returns the nearest few configs for each problem and kernel, which a plan keeps.
std::vector<SavedConfig> select_warm_starts(const std::vector<SavedConfig>& known,
                                            const RunPlan& plan, const Arch& arch);

/// Document fatune.known/1, which names the device once for all configs.
struct KnownFile {
  Arch arch;
  std::string device;
  std::vector<SavedConfig> configs;
};
void fields(KnownFile& x, FieldList& f);

/// Returns the configs that ship with fatune (fatune.known/1).
Result<std::vector<SavedConfig>> parse_known(std::string_view text, const std::string& where);

/// Loads the best config of each kernel and problem from a best.json, a journal (.jsonl,
/// .jsonl.gz), a fatune.known/1, or the best.json or journal of a run's folder.
Result<std::vector<SavedConfig>> load_known(const std::filesystem::path& path);

/// Loads the configs of all runs in a folder by name, without `own` and unreadable runs.
std::vector<SavedConfig> known_of_runs(const std::filesystem::path& folder,
                                       const std::filesystem::path& own);

}  // namespace fatune
