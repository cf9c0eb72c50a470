// kernel_facts.cpp - launch facts to the JSON of fatune.launch/1, and where they may run.
#include "model/wisdom/kernel_facts.hpp"

#include <nlohmann/json.hpp>

namespace fatune {
namespace {

Json to_json(const StageFacts& stage) {
  return {{"entry", stage.entry},
          {"grid", stage.grid},
          {"block", stage.block},
          {"cluster", stage.cluster},
          {"shared_bytes", stage.shared_bytes},
          {"static_shared_bytes", stage.static_shared_bytes},
          {"dependent", stage.dependent},
          {"arguments", stage.arguments}};
}

Json to_json(const TensorMapFacts& map) {
  return {{"name", map.name},
          {"tensor", map.tensor},
          {"element", name(map.element)},
          {"sizes", map.sizes},
          {"strides_bytes", map.strides_bytes},
          {"box", map.box},
          {"swizzle_bytes", map.swizzle_bytes}};
}

Json to_json(const std::optional<MeasuredFacts>& measured) {
  if (!measured) return {};
  Json json = {{"hot_us", measured->hot_us}};
  if (measured->ci95_us) json["ci95_us"] = *measured->ci95_us;
  if (!measured->baseline.empty()) json["baseline"] = measured->baseline;
  if (measured->ratio) json["ratio"] = *measured->ratio;
  return json;
}

Json to_json(const ScratchFacts& scratch) {
  return {{"name", scratch.name}, {"bytes", scratch.bytes}};
}

template <typename T>
Json list(const std::vector<T>& items) {
  Json array = Json::array();
  for (const T& item : items) array.push_back(to_json(item));
  return array;
}

}  // namespace

std::string_view name(MapElement element) {
  switch (element) {
    case MapElement::kF16:
      return "f16";
    case MapElement::kBf16:
      return "bf16";
    case MapElement::kByte:
      break;
  }
  return "byte";
}

bool runs_on(const KernelFacts& facts, int major, int minor) {
  if (major != facts.compute_major) return false;
  return facts.exact_compute ? minor == facts.compute_minor : minor >= facts.compute_minor;
}

Json to_json(const KernelFacts& facts) {
  return {
      {"schema", "fatune.launch/1"},
      {"fatune", facts.fatune},
      {"kernel", facts.kernel},
      {"config", Json::parse(facts.config, nullptr, /*allow_exceptions=*/false)},
      {"id", facts.id},
      {"problem", to_json(facts.problem)},
      {"arch", facts.arch},
      {"min_compute", {facts.compute_major, facts.compute_minor}},
      {"exact_compute", facts.exact_compute},
      {"cubin",
       {{"file", facts.cubin.file}, {"sha256", facts.cubin.sha256}, {"bytes", facts.cubin.bytes}}},
      {"stages", list(facts.stages)},
      {"tensor_maps", list(facts.tensor_maps)},
      {"scratch", list(facts.scratch)},
      {"scale", facts.scale},
      {"verified", facts.verified},
      {"measured", to_json(facts.measured)},
      {"recorded", facts.recorded},
      {"device",
       {{"name", facts.device_name}, {"driver", facts.driver}, {"sm_count", facts.sm_count}}},
      {"nvrtc", facts.nvrtc},
      {"command", facts.command}};
}

}  // namespace fatune
