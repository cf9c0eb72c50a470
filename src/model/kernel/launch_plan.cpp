// launch_plan.cpp: Evaluates a manifest's launch for one candidate, and stores plans as JSON.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "core/fields.hpp"
#include "model/kernel/candidate.hpp"
#include "model/kernel/limits.hpp"
#include "model/kernel/vocabulary.hpp"
#include "model/wisdom/scalar.hpp"

namespace fatune {
namespace {

constexpr std::int64_t kMapRowBytes = 16;  // cuTensorMapEncodeTiled

template <std::size_t kCount>
Status counts(const Evaluation& evaluation, const std::vector<std::string>& texts,
              const std::string& path, std::array<std::int64_t, kCount>& values) {
  for (std::size_t i = 0; i < kCount; ++i) {
    FATUNE_TRY(values[i], evaluation.count(texts[i], fmt::format("{}[{}]", path, i)));
  }
  return {};
}

/// Returns the stage's arguments, without fp8 factors and optional tensors that the problem lacks.
std::vector<std::string> arguments_of(const StageSpec& spec, const Problem& problem) {
  std::vector<std::string> arguments = spec.arguments;
  const Attention* const attention = problem.attention();
  if (attention == nullptr) return arguments;
  const std::vector<std::string> present = attention_tensors(*attention);
  std::erase_if(arguments, [&](const std::string& each) {
    return each != kAllTensors && (is_descale(each) || is_optional(each)) &&
           std::ranges::count(present, each) == 0;
  });
  const auto named = std::ranges::find(arguments, kAllTensors);
  if (named == arguments.end()) return arguments;
  const auto place = arguments.erase(named);
  std::vector<std::string> all;
  for (const NamedTensor& each : attention->tensors) all.push_back(argument_of(each));
  arguments.insert(place, all.begin(), all.end());
  return arguments;
}

/// Replaces the expression of each argument by value by its number: "i32 1024". Arguments of an
/// exported kernel keep run-time sizes.
Status evaluate_scalars(const Evaluation& evaluation, const std::string& path, StagePlan& stage) {
  std::vector<std::string>& arguments = stage.arguments;
  stage.exported_arguments = arguments;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (!is_scalar(arguments[i])) continue;
    const auto split = split_scalar(arguments[i]);
    FATUNE_CHECK(split.has_value(), "the manifest's reader knows the type");
    FATUNE_TRY(const std::string runtime, evaluation.runtime(split->value));
    const std::string place = fmt::format("{}[{}]", path, i), text(split->value);
    FATUNE_TRY(const double value, evaluation.number(text, place));
    auto stored = scalar_of(*split->type, value);
    if (!stored) {
      return file_error(
          fmt::format("{}: '{}' {}", evaluation.place(place), text, stored.error().message));
    }
    arguments[i] = *std::move(stored);
    stage.exported_arguments[i] =
        runtime.empty() ? arguments[i] : fmt::format("{} {}", split->type->name, runtime);
  }
  return {};
}

Dtype element_of(const TensorMapPlan& map, const Problem& problem) {
  const Attention* attention = map.sizes[0] == 0 ? problem.attention() : nullptr;
  return attention ? dtype_of(*attention, map.tensor) : problem.dtype();
}

/// Tells whether a tensor map stays within its scratch, with rows aligned for TMA.
bool scratch_map_fits(const TensorMapPlan& map, const std::vector<ScratchFacts>& scratch,
                      const Problem& problem, std::string* why) {
  double bytes = size_of(problem.dtype());
  for (const std::int64_t size : map.sizes) bytes *= static_cast<double>(size);
  const auto held = static_cast<double>(find_named(scratch, map.tensor)->bytes);
  if (bytes <= 0 || bytes > held) {
    *why = fmt::format("is of {:.0f} bytes, {} of {:.0f}", bytes, map.tensor, held);
    return false;
  }
  if (map.sizes[0] * size_of(problem.dtype()) % kMapRowBytes == 0) return true;
  *why = fmt::format("has rows of {} elements, whose bytes {} does not divide", map.sizes[0],
                     kMapRowBytes);
  return false;
}

Result<StagePlan> plan_stage(const StageSpec& spec, const std::string& path,
                             const Evaluation& evaluation, const Problem& problem,
                             const DeviceLimits& limits) {
  StagePlan stage;
  stage.entry = spec.entry;
  stage.arguments = arguments_of(spec, problem);
  FATUNE_TRY_STATUS(evaluate_scalars(evaluation, path + ".arguments", stage));
  FATUNE_TRY_STATUS(counts(evaluation, spec.grid, path + ".grid", stage.grid));
  FATUNE_TRY(stage.extents, evaluation.extents(spec.grid, stage.grid));
  FATUNE_TRY_STATUS(counts(evaluation, spec.block, path + ".block", stage.block));
  FATUNE_TRY_STATUS(counts(evaluation, spec.cluster, path + ".cluster", stage.cluster));
  FATUNE_TRY(stage.shared_bytes, evaluation.count(spec.shared_bytes, path + ".shared_bytes"));
  stage.counts_static = spec.counts_static;
  FATUNE_TRY(stage.static_shared_bytes,
             evaluation.count(spec.static_shared_bytes, path + ".static_shared_bytes"));
  FATUNE_TRY(const std::int64_t dependent, evaluation.count(spec.dependent, path + ".dependent"));
  stage.dependent = dependent != 0;
  std::string why;
  if (stage.dependent && !has_dependent_launches(limits.arch)) {
    return device_error(
        fmt::format("{}: {} begins before the work in front of it has ended, which "
                    "needs sm_90",
                    evaluation.place(path + ".dependent"), spec.entry));
  }
  if (!shared_fits(stage.shared_bytes, stage.static_shared_bytes, limits, &why) ||
      !block_fits(stage.block, limits, &why) ||
      !grid_fits(stage.grid, stage.cluster, limits, &why)) {
    return device_error(fmt::format("{}: {} {}", evaluation.place(path), spec.entry, why));
  }
  return stage;
}

Result<bool> is_wanted(const StageSpec& stage, const std::string& path,
                       const Evaluation& evaluation) {
  if (stage.when.empty()) return true;
  FATUNE_TRY(const double when, evaluation.number(stage.when, path + ".when"));
  return when != 0;
}

/// Removes scratch that only omitted stages use.
void drop_unused_scratch(LaunchPlan& plan) {
  std::erase_if(plan.scratch, [&](const ScratchFacts& scratch) {
    const auto of_stage = [&](const StagePlan& stage) {
      return stage.gemm || std::ranges::count(stage.arguments, scratch.name) > 0;
    };
    return std::ranges::none_of(plan.stages, of_stage) &&
           std::ranges::count(plan.tensor_maps, scratch.name, &TensorMapPlan::tensor) == 0;
  });
}

Status plan_constants(const Manifest& manifest, const Problem& problem, LaunchPlan& plan) {
  if (manifest.constants.empty()) return {};
  FATUNE_TRY(const OperationPlan operation, manifest.operation->plan(problem));
  for (const ConstantSpec& each : manifest.constants) {
    const TensorPlan& tensor = *find_named(operation.tensors, each.tensor);
    plan.constants.push_back({each.symbol, each.tensor, static_cast<std::int64_t>(tensor.bytes())});
  }
  return {};
}

}  // namespace

Result<LaunchPlan> launch_plan(const Candidate& candidate, const DeviceLimits& limits) {
  const Manifest& manifest = candidate.kernel->manifest;
  const Evaluation evaluation(manifest,
                              scope_of(manifest, candidate.config, candidate.problem, limits));
  LaunchPlan plan;
  if (const Fault* fault = fault_of(manifest, candidate.config))
    plan.persisting_window = fault->persisting_window;
  std::vector<std::int64_t> scratch_bytes;
  for (std::size_t i = 0; i < manifest.scratch.size(); ++i) {
    const ScratchSpec& spec = manifest.scratch[i];
    FATUNE_TRY(const std::int64_t bytes,
               evaluation.count(spec.bytes, fmt::format("scratch[{}].bytes", i)));
    FATUNE_TRY(std::string extent, evaluation.runtime(spec.bytes));
    plan.scratch.push_back({spec.name, bytes, std::move(extent)});
    scratch_bytes.push_back(bytes);
  }
  std::string why;
  if (!memory_fits(scratch_bytes, candidate.problem, limits, &why)) {
    return device_error(fmt::format("{} {}", manifest.name, why));
  }
  for (std::size_t i = 0; i < manifest.tensor_maps.size(); ++i) {
    const TensorMapSpec& spec = manifest.tensor_maps[i];
    TensorMapPlan map{spec.name, spec.tensor, {}, {}, 0};
    const std::string of_map = fmt::format("tensor_maps[{}]", i);
    if (!spec.sizes.empty()) {
      FATUNE_TRY_STATUS(counts(evaluation, spec.sizes, of_map + ".sizes", map.sizes));
      if (!scratch_map_fits(map, plan.scratch, candidate.problem, &why)) {
        return device_error(
            fmt::format("{}: {} {}", evaluation.place(of_map + ".sizes"), spec.name, why));
      }
    }
    FATUNE_TRY(const std::int64_t swizzle, evaluation.count(spec.swizzle, of_map + ".swizzle"));
    map.swizzle = static_cast<int>(swizzle);
    const std::string path = of_map + ".box";
    FATUNE_TRY_STATUS(counts(evaluation, spec.box, path, map.box));
    if (!box_fits(map.box, map.swizzle, element_of(map, candidate.problem), &why)) {
      return device_error(fmt::format("{}: {} {}", evaluation.place(path), spec.name, why));
    }
    plan.tensor_maps.push_back(std::move(map));
  }
  for (std::size_t i = 0; i < manifest.stages.size(); ++i) {
    const std::string path = fmt::format("stages[{}]", i);
    FATUNE_TRY(const bool wanted, is_wanted(manifest.stages[i], path, evaluation));
    if (!wanted) continue;
    StagePlan stage;
    if (const auto& gemm = manifest.stages[i].gemm) {
      FATUNE_TRY(stage.gemm, plan_gemm(*gemm, path, candidate, evaluation));
    } else {
      FATUNE_TRY(stage,
                 plan_stage(manifest.stages[i], path, evaluation, candidate.problem, limits));
    }
    plan.stages.push_back(std::move(stage));
  }
  drop_unused_scratch(plan);
  FATUNE_TRY_STATUS(plan_constants(manifest, candidate.problem, plan));
  return plan;
}

TensorMapFacts facts_of(const TensorMapPlan& plan, const Problem& problem) {
  TensorMapFacts map = plan.sizes[0] == 0
                           ? map_of(plan.tensor, problem.as_attention())
                           : scratch_map_of(plan.tensor, plan.sizes, problem.dtype());
  map.name = plan.name;
  map.box = plan.box;
  map.swizzle_bytes = plan.swizzle;
  return map;
}

bool is_persistent(Candidate candidate, const DeviceLimits& limits) {
  const auto once = launch_plan(candidate, limits);
  candidate.problem.as_attention().batch *= 2;
  const auto twice = launch_plan(candidate, limits);
  if (!once || !twice) return false;
  for (std::size_t i = 0; i < once->stages.size(); ++i) {
    if (!once->stages[i].gemm && once->stages[i].grid == twice->stages[i].grid) return true;
  }
  return false;
}

void accept_shorter_lists(LaunchPlan& plan) {
  for (StagePlan& stage : plan.stages) {
    if (stage.gemm) stage.gemm->or_last = true;
  }
}

void fields(StagePlan& x, FieldList& f) {
  if (f.chooses("gemm", x.gemm)) {
    f("gemm", *x.gemm).required();
    return;
  }
  f("entry", x.entry).required();
  f("grid", x.grid).required().at_least(0);
  f("block", x.block).required().at_least(0);
  f("cluster", x.cluster).required().at_least(0);
  f("shared_bytes", x.shared_bytes).required().at_least(0);
  f("static_shared_bytes", x.static_shared_bytes).required().at_least(0);
  f("dependent", x.dependent);
  f("arguments", x.arguments);
}

void fields(TensorMapPlan& x, FieldList& f) {
  f("name", x.name).required();
  f("tensor", x.tensor).required();
  f("sizes", x.sizes).required().at_least(0);
  f("box", x.box).required().at_least(0);
  f("swizzle", x.swizzle).required().at_least(0);
}

void fields(LaunchPlan& x, FieldList& f) {
  f("stages", x.stages).required().filled();
  f("scratch", x.scratch);
  f("constants", x.constants).omitted();
  f("tensor_maps", x.tensor_maps);
  f("persisting_window", x.persisting_window).omitted();
}

}  // namespace fatune
