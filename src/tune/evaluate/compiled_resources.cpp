// compiled_resources.cpp - adds the stages' spills and warnings to a candidate's resources.
#include "tune/evaluate/compiled_resources.hpp"

#include <algorithm>

namespace fatune {

std::optional<Resources> with_compiler_log(std::optional<Resources> resources,
                                           const Compiled& compiled, const LaunchPlan& plan) {
  for (const StagePlan& stage : plan.stages) {
    const auto entry = compiled.entries.find(stage.entry);
    if (entry == compiled.entries.end()) continue;
    const Resources& logged = entry->second;
    if (!resources) {
      resources = Resources{};
      resources->dynamic_shared_bytes = stage.shared_bytes;
      resources->threads = static_cast<int>(stage.block[0] * stage.block[1] * stage.block[2]);
    }
    resources->registers = std::max(resources->registers, logged.registers);
    resources->static_shared_bytes =
        std::max(resources->static_shared_bytes, logged.static_shared_bytes);
    resources->spill_store_bytes += logged.spill_store_bytes;
    resources->spill_load_bytes += logged.spill_load_bytes;
    resources->stack_bytes = std::max(resources->stack_bytes, logged.stack_bytes);
    for (const std::string& warning : logged.warnings) {
      const auto known = std::find(resources->warnings.begin(), resources->warnings.end(), warning);
      if (known == resources->warnings.end()) resources->warnings.push_back(warning);
    }
  }
  return resources;
}

}  // namespace fatune
