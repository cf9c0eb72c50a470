// cudnn_plans.cpp - asks the heuristics, finalizes plans, and binds memory to them.
#include "worker/baselines/cudnn_plans.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <set>
#include <utility>

namespace fatune {
namespace {

Result<std::vector<CudnnDescriptor>> engine_configs(const CudnnFunctions& functions,
                                                    const CudnnGraph& graph, CudnnHeuristic mode) {
  FATUNE_TRY(CudnnDescriptor heuristic,
             CudnnDescriptor::make(functions, cudnn_descriptor::kHeuristic));
  FATUNE_TRY_STATUS(heuristic.set_descriptor(cudnn_attribute::kHeuristicGraph, graph.graph.raw()));
  FATUNE_TRY_STATUS(heuristic.set(cudnn_attribute::kHeuristicMode, mode));
  FATUNE_TRY_STATUS(heuristic.finalize());
  FATUNE_TRY(const std::int64_t count,
             heuristic.descriptor_count(cudnn_attribute::kHeuristicResults));
  return heuristic.descriptors(cudnn_attribute::kHeuristicResults, cudnn_descriptor::kEngineConfig,
                               count);
}

/// "engine 1 (knobs 24=3 27=0)": cuDNN tells no names of its engines.
Result<std::string> engine_text(const CudnnDescriptor& config) {
  constexpr std::int64_t kMostKnobs = 40;  // chosen: cuDNN tells no number without room for it
  FATUNE_TRY(const auto engines,
             config.descriptors(cudnn_attribute::kConfigEngine, cudnn_descriptor::kEngine, 1));
  if (engines.empty()) return device_error("an engine config of cuDNN has no engine");
  FATUNE_TRY(const std::int64_t index, engines.front().number(cudnn_attribute::kEngineIndex));
  FATUNE_TRY(const auto choices, config.descriptors(cudnn_attribute::kConfigKnobs,
                                                    cudnn_descriptor::kKnobChoice, kMostKnobs));
  std::map<int, std::int64_t> knobs;  // in one order, whatever cuDNN's was
  for (const CudnnDescriptor& choice : choices) {
    FATUNE_TRY(const int type, choice.knob_type(cudnn_attribute::kKnobType));
    FATUNE_TRY(knobs[type], choice.number(cudnn_attribute::kKnobValue));
  }
  std::string text;
  for (const auto& [type, value] : knobs)
    text += " " + std::to_string(type) + "=" + std::to_string(value);
  return "engine " + std::to_string(index) + (text.empty() ? "" : " (knobs" + text + ")");
}

Result<CudnnPlanEntry> finalize_plan(const CudnnFunctions& functions, void* handle,
                                     const CudnnDescriptor& config, std::string engine) {
  CudnnPlanEntry entry;
  entry.engine = std::move(engine);
  FATUNE_TRY(entry.plan, CudnnDescriptor::make(functions, cudnn_descriptor::kPlan));
  FATUNE_TRY_STATUS(entry.plan.set_handle(cudnn_attribute::kPlanHandle, handle));
  FATUNE_TRY_STATUS(entry.plan.set_descriptor(cudnn_attribute::kPlanConfig, config.raw()));
  FATUNE_TRY_STATUS(entry.plan.finalize());
  FATUNE_TRY(entry.workspace_bytes, entry.plan.number(cudnn_attribute::kPlanWorkspace));
  return entry;
}

void add_refusal(std::vector<std::string>& refusals, const std::string& text) {
  if (std::find(refusals.begin(), refusals.end(), text) == refusals.end()) refusals.push_back(text);
}

}  // namespace

void visit_cudnn_plans(const CudnnFunctions& functions, void* handle, const CudnnGraph& graph,
                       const CudnnPlanVisitor& visitor, std::vector<std::string>& refusals) {
  std::set<std::string> seen;
  for (const CudnnHeuristic mode :
       {CudnnHeuristic::kA, CudnnHeuristic::kB, CudnnHeuristic::kFallback}) {
    auto configs = engine_configs(functions, graph, mode);
    if (!configs) {
      add_refusal(refusals, configs.error().message);
      continue;
    }
    // Engines that cannot do the problem are left out of the list without an error.
    if (configs->empty()) add_refusal(refusals, "no engine: " + cudnn_last_error(functions));
    for (const CudnnDescriptor& config : *configs) {
      auto engine = engine_text(config);
      if (!engine) {
        add_refusal(refusals, engine.error().message);
        continue;
      }
      if (!seen.insert(*engine).second) continue;
      auto entry = finalize_plan(functions, handle, config, *engine);
      if (!entry) {
        add_refusal(refusals, *engine + ": " + entry.error().message);
      } else if (visitor(*std::move(entry)) == CudnnSearch::kStop) {
        return;
      }
    }
  }
}

Result<CudnnDescriptor> make_cudnn_pack(const CudnnFunctions& functions, const CudnnGraph& graph,
                                        CudnnBinding binding, CUdeviceptr workspace) {
  for (const CudnnScalar& scalar : graph.scalars) {
    const void* value =
        std::visit([](const auto& number) -> const void* { return &number; }, scalar.value);
    binding.ids.push_back(scalar.id);
    binding.pointers.push_back(const_cast<void*>(value));  // cuDNN only reads it
  }
  FATUNE_TRY(CudnnDescriptor pack,
             CudnnDescriptor::make(functions, cudnn_descriptor::kVariantPack));
  FATUNE_TRY_STATUS(pack.set(cudnn_attribute::kPackIds, binding.ids));
  FATUNE_TRY_STATUS(pack.set_pointers(cudnn_attribute::kPackPointers, binding.pointers));
  void* const room[] = {std::bit_cast<void*>(workspace)};
  FATUNE_TRY_STATUS(pack.set_pointers(cudnn_attribute::kPackWorkspace, room));
  FATUNE_TRY_STATUS(pack.finalize());
  return pack;
}

}  // namespace fatune
