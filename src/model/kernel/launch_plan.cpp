// launch_plan.cpp - evaluates a manifest's launch for one candidate; the plan to JSON and back.
#include <array>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/json.hpp"
#include "model/kernel/candidate.hpp"
#include "model/kernel/device_rules.hpp"
#include "model/kernel/gemm_plan.hpp"
#include "model/kernel/terms.hpp"

namespace fatune {
namespace {

/// Evaluates the expressions of one candidate.
class Evaluation {
 public:
  Evaluation(const Manifest& manifest, Scope scope)
      : manifest_(manifest), scope_(std::move(scope)) {}

  Result<std::int64_t> count(const std::string& text, const std::string& path) const {
    FATUNE_TRY(const Expression expression,
               Expression::parse(expand_terms(manifest_, text), place_of(path)));
    return expression.count(scope_);
  }
  template <std::size_t kCount>
  Status counts(const std::vector<std::string>& texts, const std::string& path,
                std::int64_t (&values)[kCount]) const {
    for (std::size_t i = 0; i < kCount; ++i) {
      FATUNE_TRY(values[i], count(texts[i], fmt::format("{}[{}]", path, i)));
    }
    return {};
  }
  const Scope& scope() const { return scope_; }
  std::string place_of(const std::string& path) const {
    return fmt::format("{}: field '{}'", manifest_.where, path);
  }

 private:
  const Manifest& manifest_;
  Scope scope_;
};

Result<StagePlan> plan_stage(const StageSpec& spec, const std::string& path,
                             const Evaluation& evaluation, const DeviceLimits& limits) {
  StagePlan stage;
  stage.entry = spec.entry;
  stage.arguments = spec.arguments;
  FATUNE_TRY_STATUS(evaluation.counts(spec.grid, path + ".grid", stage.grid));
  FATUNE_TRY_STATUS(evaluation.counts(spec.block, path + ".block", stage.block));
  FATUNE_TRY_STATUS(evaluation.counts(spec.cluster, path + ".cluster", stage.cluster));
  FATUNE_TRY(stage.shared_bytes, evaluation.count(spec.shared_bytes, path + ".shared_bytes"));
  FATUNE_TRY(stage.static_shared_bytes,
             evaluation.count(spec.static_shared_bytes, path + ".static_shared_bytes"));
  FATUNE_TRY(const std::int64_t dependent, evaluation.count(spec.dependent, path + ".dependent"));
  stage.dependent = dependent != 0;
  std::string why;
  if (stage.dependent && !has_dependent_launches(limits.arch)) {
    return device_error(
        fmt::format("{}: {} begins before the work in front of it has ended, which "
                    "needs sm_90",
                    evaluation.place_of(path + ".dependent"), spec.entry));
  }
  if (!shared_fits(stage.shared_bytes, stage.static_shared_bytes, limits, &why) ||
      !block_fits(stage.block, limits, &why) ||
      !grid_fits(stage.grid, stage.cluster, limits, &why)) {
    return device_error(fmt::format("{}: {} {}", evaluation.place_of(path), spec.entry, why));
  }
  return stage;
}

Json to_json(const StagePlan& stage) {
  if (stage.gemm) return Json{{"gemm", to_json(*stage.gemm)}};
  return Json{{"entry", stage.entry},
              {"grid", stage.grid},
              {"block", stage.block},
              {"cluster", stage.cluster},
              {"shared_bytes", stage.shared_bytes},
              {"static_shared_bytes", stage.static_shared_bytes},
              {"dependent", stage.dependent},
              {"arguments", stage.arguments}};
}

template <std::size_t kCount>
Status read_counts(const Fields& fields, std::string_view key, std::int64_t (&values)[kCount]) {
  FATUNE_TRY(const Json* list, fields.value(key));
  if (!list->is_array() || list->size() != kCount) {
    return fields.error(key, fmt::format("must be a list of {} whole numbers", kCount));
  }
  for (std::size_t i = 0; i < kCount; ++i) {
    const Json& item = (*list)[i];
    if (!item.is_number_integer() || item.get<std::int64_t>() < 0) {
      return fields.error(fmt::format("{}[{}]", key, i), "must be a whole number >= 0");
    }
    values[i] = item.get<std::int64_t>();
  }
  return {};
}

Result<std::int64_t> read_count(const Fields& fields, std::string_view key) {
  FATUNE_TRY(const std::int64_t value, fields.integer(key));
  if (value < 0) return fields.error(key, "must be a whole number >= 0");
  return value;
}

Result<StagePlan> stage_from_json(const Fields& fields) {
  StagePlan stage;
  if (fields.has("gemm")) {
    FATUNE_TRY(const Fields gemm, fields.object("gemm"));
    FATUNE_TRY(stage.gemm, gemm_plan_from_json(gemm.json(), gemm.where()));
    return stage;
  }
  FATUNE_TRY(stage.entry, fields.text("entry"));
  FATUNE_TRY_STATUS(read_counts(fields, "grid", stage.grid));
  FATUNE_TRY_STATUS(read_counts(fields, "block", stage.block));
  FATUNE_TRY_STATUS(read_counts(fields, "cluster", stage.cluster));
  FATUNE_TRY(stage.shared_bytes, read_count(fields, "shared_bytes"));
  FATUNE_TRY(stage.static_shared_bytes, read_count(fields, "static_shared_bytes"));
  FATUNE_TRY(stage.dependent, fields.boolean_or("dependent", false));
  FATUNE_TRY(stage.arguments, fields.texts_or("arguments", {}));
  return stage;
}

Result<TensorMapPlan> tensor_map_from_json(const Fields& fields) {
  TensorMapPlan map;
  FATUNE_TRY(map.name, fields.text("name"));
  FATUNE_TRY(map.tensor, fields.text("tensor"));
  FATUNE_TRY_STATUS(read_counts(fields, "box", map.box));
  FATUNE_TRY(const std::int64_t swizzle, read_count(fields, "swizzle"));
  map.swizzle = static_cast<int>(swizzle);
  return map;
}

}  // namespace

Result<LaunchPlan> launch_plan(const Candidate& candidate, const DeviceLimits& limits) {
  const Manifest& manifest = candidate.kernel->manifest;
  const Evaluation evaluation(manifest,
                              scope_of(manifest, candidate.config, candidate.problem, limits));
  LaunchPlan plan;
  plan.persisting_window = manifest.persisting_window;
  std::vector<std::int64_t> scratch_bytes;
  for (std::size_t i = 0; i < manifest.scratch.size(); ++i) {
    const ScratchSpec& spec = manifest.scratch[i];
    FATUNE_TRY(const std::int64_t bytes,
               evaluation.count(spec.bytes, fmt::format("scratch[{}].bytes", i)));
    plan.scratch.push_back({spec.name, bytes});
    scratch_bytes.push_back(bytes);
  }
  std::string why;
  if (!memory_fits(scratch_bytes, candidate.problem, limits, &why)) {
    return device_error(fmt::format("{} {}", manifest.name, why));
  }
  for (std::size_t i = 0; i < manifest.tensor_maps.size(); ++i) {
    const TensorMapSpec& spec = manifest.tensor_maps[i];
    TensorMapPlan map{spec.name, spec.tensor, {}, spec.swizzle};
    const std::string path = fmt::format("tensor_maps[{}].box", i);
    FATUNE_TRY_STATUS(evaluation.counts(spec.box, path, map.box));
    if (!box_fits(map.box, map.swizzle, candidate.problem.dtype, &why)) {
      return device_error(fmt::format("{}: {} {}", evaluation.place_of(path), spec.name, why));
    }
    plan.tensor_maps.push_back(std::move(map));
  }
  for (std::size_t i = 0; i < manifest.stages.size(); ++i) {
    const std::string path = fmt::format("stages[{}]", i);
    StagePlan stage;
    if (const auto& gemm = manifest.stages[i].gemm) {
      FATUNE_TRY(stage.gemm, plan_gemm(*gemm, path, candidate, evaluation.scope()));
    } else {
      FATUNE_TRY(stage, plan_stage(manifest.stages[i], path, evaluation, limits));
    }
    plan.stages.push_back(std::move(stage));
  }
  return plan;
}

void accept_shorter_lists(LaunchPlan& plan) {
  for (StagePlan& stage : plan.stages) {
    if (stage.gemm) stage.gemm->or_last = true;
  }
}

Json to_json(const LaunchPlan& plan) {
  Json object = {
      {"stages", Json::array()}, {"scratch", Json::array()}, {"tensor_maps", Json::array()}};
  for (const StagePlan& stage : plan.stages) object["stages"].push_back(to_json(stage));
  for (const BufferPlan& buffer : plan.scratch) {
    object["scratch"].push_back({{"name", buffer.name}, {"bytes", buffer.bytes}});
  }
  for (const TensorMapPlan& map : plan.tensor_maps) {
    object["tensor_maps"].push_back(
        {{"name", map.name}, {"tensor", map.tensor}, {"box", map.box}, {"swizzle", map.swizzle}});
  }
  if (!plan.persisting_window.empty()) object["persisting_window"] = plan.persisting_window;
  return object;
}

Result<LaunchPlan> launch_plan_from_json(const Json& object, const std::string& where) {
  const Fields root(object, where);
  LaunchPlan plan;
  FATUNE_TRY(const std::vector<Fields> stages, root.objects_or_empty("stages"));
  if (stages.empty()) return root.error("stages", "must have at least one stage");
  for (const Fields& fields : stages) {
    FATUNE_TRY(StagePlan stage, stage_from_json(fields));
    plan.stages.push_back(std::move(stage));
  }
  FATUNE_TRY(const std::vector<Fields> buffers, root.objects_or_empty("scratch"));
  for (const Fields& fields : buffers) {
    BufferPlan buffer;
    FATUNE_TRY(buffer.name, fields.text("name"));
    FATUNE_TRY(buffer.bytes, read_count(fields, "bytes"));
    plan.scratch.push_back(std::move(buffer));
  }
  FATUNE_TRY(const std::vector<Fields> maps, root.objects_or_empty("tensor_maps"));
  for (const Fields& fields : maps) {
    FATUNE_TRY(TensorMapPlan map, tensor_map_from_json(fields));
    plan.tensor_maps.push_back(std::move(map));
  }
  FATUNE_TRY(plan.persisting_window, root.text_or("persisting_window", ""));
  return plan;
}

}  // namespace fatune
