// launch_facts.cpp - plan and resources to blocks, waves and occupancy.
#include "tune/profile/launch_facts.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/fields.hpp"
#include "model/results/document.hpp"

namespace fatune {
namespace {

std::int64_t product(const std::array<std::int64_t, 3>& extent) {
  return extent[0] * extent[1] * extent[2];
}

bool fits(const StagePlan& stage, const Resources& resources) {
  return !stage.entry.empty() && product(stage.block) == resources.threads &&
         stage.shared_bytes == resources.dynamic_shared_bytes;
}

}  // namespace

std::optional<double> LaunchFacts::waves() const {
  const std::int64_t at_once = resources.blocks_per_sm * sm_count;
  if (at_once == 0 || blocks == 0) return std::nullopt;
  return static_cast<double>(blocks) / static_cast<double>(at_once);
}

std::optional<double> LaunchFacts::wave_use() const {
  const auto count = waves();
  if (!count) return std::nullopt;
  if (*count > 1) return *count / std::ceil(*count);
  return std::min(1.0, static_cast<double>(blocks) / static_cast<double>(sm_count));
}

std::optional<double> LaunchFacts::occupancy() const {
  if (resources.blocks_per_sm == 0 || max_threads_sm == 0) return std::nullopt;
  return static_cast<double>(resources.blocks_per_sm) * resources.threads /
         static_cast<double>(max_threads_sm);
}

LaunchFacts launch_facts(const LaunchPlan& plan, const Resources& resources,
                         const DeviceLimits& limits) {
  LaunchFacts facts;
  facts.stages = plan.stages.size();
  facts.resources = resources;
  facts.sm_count = limits.sm_count;
  facts.max_threads_sm = limits.max_threads_sm;
  const auto found = std::find_if(plan.stages.begin(), plan.stages.end(),
                                  [&](const StagePlan& stage) { return fits(stage, resources); });
  const auto own = std::find_if(plan.stages.begin(), plan.stages.end(),
                                [](const StagePlan& stage) { return !stage.entry.empty(); });
  if (own == plan.stages.end()) return facts;  // libraries' kernels alone
  const StagePlan& stage = found == plan.stages.end() ? *own : *found;
  facts.entry = stage.entry;
  facts.blocks = product(stage.grid);
  return facts;
}

void fields(LaunchFacts& x, FieldList& f) {
  f.record("facts");
  f("entry", x.entry).omitted();
  f("stages", x.stages);
  f("blocks", x.blocks).absent_if(x.blocks == 0);
  f("sm_count", x.sm_count).absent_if(x.sm_count == 0);
  f.as<&document::resource_fields>("resources", x.resources).absent_if(x.resources.threads == 0);
  f.derived("occupancy", x.occupancy()).finite();
  f.derived("waves", x.waves()).finite();
  f.derived("wave_use", x.wave_use()).finite();
}

}  // namespace fatune
