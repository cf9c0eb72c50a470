// warm_start.hpp - results of other runs to the configs that a search of a problem tries first.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "model/results/journal.hpp"

namespace fatune {

/// Distance between two problems, for the nearest known config; 0 for the same problem on the same
/// architecture. A doubling of batch * heads or of a length counts 1, one of the head dim 4, one of
/// the query heads that share a key/value head 1; another mask 1; another layout 0.25; another
/// element type 1, of another size 3; another architecture 2, of another generation 6.
double distance(const Problem& a, const Arch& a_arch, const Problem& b, const Arch& b_arch);

/// Known configs with which a search begins, of a kernel; chosen: half of the smallest spread
/// start.
inline constexpr std::size_t kWarmStarts = 4;

/// The configs of a kernel, nearest problem first; each config once.
std::vector<SavedConfig> nearest_known(const std::vector<SavedConfig>& known,
                                       const std::string& kernel, const Problem& problem,
                                       const Arch& arch);

/// What a plan keeps of all that is known: for each of its problems and kernels the nearest few.
std::vector<SavedConfig> select_warm_starts(const std::vector<SavedConfig>& known,
                                            const RunPlan& plan, const Arch& arch);

/// fatune.known/1: the device is said once for all configs.
struct KnownFile {
  Arch arch;
  std::string device;
  std::vector<SavedConfig> configs;
};
void fields(KnownFile& x, FieldList& f);

/// fatune.known/1: the configs that ship with fatune.
Result<std::vector<SavedConfig>> parse_known(std::string_view text, const std::string& where);

/// The best config of each kernel and problem in a best.json, a journal (.jsonl, .jsonl.gz), a
/// fatune.known/1, or in the best.json or journal of a run's folder.
Result<std::vector<SavedConfig>> load_known(const std::filesystem::path& path);

/// The same of every run in a folder of runs, in the order of their names; `own` and what cannot be
/// read are left out.
std::vector<SavedConfig> known_of_runs(const std::filesystem::path& folder,
                                       const std::filesystem::path& own);

}  // namespace fatune
