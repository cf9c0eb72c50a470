// page_candidates.cpp: Encodes configs and reasons as positions in lists of values.
#include <algorithm>
#include <map>
#include <unordered_map>

#include <nlohmann/json.hpp>

#include "model/kernel/candidate.hpp"
#include "out/page/colours.hpp"
#include "out/page/page_json.hpp"
#include "tune/sweep/warm_start.hpp"

namespace fatune {
namespace {

constexpr int kShareDigits = 3;

/// The parameters of a kernel and the values that its candidates have.
class Parameters {
 public:
  explicit Parameters(const JournalGroup& group) {
    for (const ToldRecord& config : group.configs) {
      for (const auto& [name, value] : config.record.config.items()) add(name, value);
    }
    for (auto& [name, values] : values_) sort(values);
  }

  std::vector<PageParameter> list() const {
    std::vector<PageParameter> list;
    for (const std::string& name : names_) list.push_back({name, values_.at(name)});
    return list;
  }

  std::vector<int> positions(const Json& config) const {
    std::vector<int> row;
    for (const std::string& name : names_) {
      const auto value = config.find(name);
      row.push_back(value == config.end() ? -1 : position(values_.at(name), *value));
    }
    return row;
  }

 private:
  void add(const std::string& name, const Json& value) {
    const auto [values, fresh] = values_.try_emplace(name);
    if (fresh) names_.push_back(name);
    if (position(values->second, value) < 0) values->second.push_back(value);
  }
  static int position(const std::vector<Json>& values, const Json& value) {
    const auto found = std::ranges::find(values, value);
    return found == values.end() ? -1 : static_cast<int>(found - values.begin());
  }
  /// Sorts numbers and truth values in ascending order; words keep the order of first appearance.
  static void sort(std::vector<Json>& values) {
    if (std::ranges::none_of(values, [](const Json& value) { return value.is_string(); }))
      std::sort(values.begin(), values.end());
  }

  std::vector<std::string> names_;
  std::map<std::string, std::vector<Json>> values_;
};

std::optional<ParameterImportance> importance_in(const JournalGroup& group,
                                                 const JournalHeader& header, Depth depth) {
  if (depth == Depth::kQuick) return {};
  const auto recording = recording_of(group, {header, {}, false}, "the journal");
  if (!recording) return {};
  const ParameterImportance importance = importance_of(*recording);
  if (importance.measured < kFewestForImportance) return {};
  return importance;
}

/// Returns the built-in kernels; a page of other kernels has less information.
const std::vector<KernelRef>& known_kernels() {
  static const auto kernels = embedded_kernels();
  static const std::vector<KernelRef> none;
  return kernels ? *kernels : none;
}

/// Returns the grid's blocks: recorded, else of the first launch with the recorded block; or 0.
std::int64_t blocks_of(const CandidateRecord& record, const KernelRef& kernel,
                       const DeviceLimits& limits) {
  if (record.resources->blocks > 0 || !kernel) return record.resources->blocks;
  const auto config = config_from_json(kernel->manifest, record.config, "the journal");
  if (!config) return 0;
  const auto plan = launch_plan({kernel, *config, record.problem}, limits);
  if (!plan) return 0;
  for (const StagePlan& stage : plan->stages) {
    if (stage.gemm || product(stage.block) != record.resources->threads) continue;
    return product(stage.grid);
  }
  return 0;
}

std::optional<double> waves_of(const CandidateRecord& record, const KernelRef& kernel,
                               const DeviceLimits& limits) {
  const std::int64_t at_once =
      record.resources ? record.resources->blocks_per_sm * limits.sm_count : 0;
  if (at_once <= 0) return {};
  const auto blocks = static_cast<double>(blocks_of(record, kernel, limits));
  if (blocks == 0) return {};
  return rounded(blocks / static_cast<double>(at_once), kShareDigits);
}

std::optional<double> median_of(const std::optional<Timing>& timing) {
  return timing ? std::optional(rounded(timing->median_us)) : std::nullopt;
}

void add(const CandidateRecord& record, double begun_s, PageCandidates& columns) {
  columns.id.push_back(record.id);
  columns.outcome.push_back(record.outcome);
  columns.at_s.push_back(rounded(record.at_s - begun_s));
  columns.compile_s.push_back(rounded(record.spent.compile_s, kShareDigits));
  columns.ready_s.push_back(rounded(record.spent.ready_s, kShareDigits));
  columns.verify_s.push_back(rounded(record.spent.verify_s, kShareDigits));
  columns.timing_s.push_back(rounded(record.spent.timing_s, kShareDigits));
  columns.compiler.push_back(record.spent.compiler);
  columns.device.push_back(record.measured_on ? std::optional(record.measured_on->device)
                                              : std::nullopt);
  columns.in_layer_median_us.push_back(median_of(record.in_layer));
  columns.hot_median_us.push_back(median_of(record.hot));
  columns.cold_median_us.push_back(median_of(record.cold));
  std::optional<double> margin;
  if (record.verification) margin = rounded(record.verification->margin, kShareDigits);
  columns.margin.push_back(margin);
  std::optional<std::int64_t> registers, shared, spilled, threads, resident;
  if (const auto& used = record.resources) {
    registers = used->registers;
    shared = used->static_shared_bytes + used->dynamic_shared_bytes;
    spilled = used->spill_store_bytes + used->spill_load_bytes;
    if (used->threads > 0) threads = used->threads;
    if (used->blocks_per_sm > 0) resident = used->blocks_per_sm;
  }
  columns.registers.push_back(registers);
  columns.shared_bytes.push_back(shared);
  columns.spill_bytes.push_back(spilled);
  columns.threads.push_back(threads);
  columns.blocks_per_sm.push_back(resident);
}

/// Compares known parameters only, because a kernel may have gained parameters since.
bool holds(const Json& config, const Json& known) {
  for (const auto& [name, value] : known.items()) {
    if (!config.contains(name) || config.at(name) != value) return false;
  }
  return true;
}

/// Returns the nearest known configs that were tried, limited per kernel as in a search.
std::vector<PageWarmStart> warm_starts_in(const std::vector<TriedConfig>& rows,
                                          const PageProblem& problem, const JournalHeader& header) {
  std::vector<PageWarmStart> found;
  for (const JournalGroup& group : problem.groups) {
    std::size_t warm = 0;
    for (const SavedConfig& known :
         nearest_known(header.plan.warm_starts, group.kernel, problem.result.problem.problem,
                       header.environment.limits.arch)) {
      const auto row = std::ranges::find_if(rows, [&](const TriedConfig& each) {
        const CandidateRecord& record = each.config->record;
        return record.kernel == group.kernel && holds(record.config, known.config);
      });
      if (row == rows.end() || warm++ == kWarmStarts) continue;
      found.push_back(
          {static_cast<std::size_t>(row - rows.begin()), without_folders(known.source)});
    }
  }
  return found;
}

}  // namespace

void add_candidates(const PageProblem& problem, const JournalHeader& header, Depth depth,
                    PageProblemData& data) {
  std::vector<Parameters> parameters;
  std::vector<KernelRef> kernels;
  for (const JournalGroup& group : problem.groups) {
    parameters.emplace_back(group);
    kernels.push_back(same_kernel(group.kernel, header.plan, known_kernels()));
    data.kernels.push_back({group.kernel, kernel_colour(group.kernel), parameters.back().list(),
                            importance_in(group, header, depth)});
  }
  const std::vector<TriedConfig> rows = tried(problem);
  data.warm_starts = warm_starts_in(rows, problem, header);
  // A problem of a suite begins with its first candidate, a single problem with the run.
  double& begun_s = data.begun_s;
  if (!rows.empty() && header.plan.problems.size() > 1) {
    const CandidateRecord& first = rows.front().config->record;
    begun_s = std::max(0.0, first.at_s - seconds_spent(first));
  }
  std::unordered_map<std::string, int> reasons;  // position by text
  for (const TriedConfig& row : rows) {
    const CandidateRecord& record = row.config->record;
    data.candidates.kernel.push_back(row.kernel);
    data.candidates.config.push_back(parameters[row.kernel].positions(record.config));
    int reason = -1;
    if (!record.reason.empty()) {
      const auto next = static_cast<int>(data.reasons.size());
      reason = reasons.try_emplace(record.reason, next).first->second;
      if (reason == next) data.reasons.push_back(record.reason);
    }
    data.candidates.reason.push_back(reason);
    const KernelRef& kernel = kernels[row.kernel];
    data.candidates.waves.push_back(waves_of(record, kernel, header.environment.limits));
    add(record, begun_s, data.candidates);
    if (!kernel && data.candidates.blocks_per_sm.back() && !data.candidates.waves.back()) {
      data.kernels[row.kernel].waves_unknown =
          "the journal has no grids, and this program's kernel of that name is not the run's";
    }
  }
}

}  // namespace fatune
