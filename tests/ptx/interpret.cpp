// interpret.cpp: Compiles a candidate, plans its launch, and runs the stages on the host.
#include "ptx/interpret.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "model/wisdom/scalar.hpp"

namespace fatune::ptx {
namespace {

std::array<std::uint32_t, 3> narrowed(const std::array<std::int64_t, 3>& extent) {
  return {static_cast<std::uint32_t>(extent[0]), static_cast<std::uint32_t>(extent[1]),
          static_cast<std::uint32_t>(extent[2])};
}

TensorMap map_of(const TensorMapFacts& facts, std::uint64_t address) {
  TensorMap map;
  map.address = address;
  map.element_bytes = facts.element == MapElement::kByte ? 1 : 2;
  std::copy(facts.sizes.begin(), facts.sizes.end(), map.sizes.begin());
  std::copy(facts.box.begin(), facts.box.end(), map.box.begin());
  std::copy(facts.strides_bytes.begin(), facts.strides_bytes.end(), map.strides.begin() + 1);
  map.swizzle = facts.swizzle_bytes;
  return map;
}

/// Addresses of what arguments name.
class Arguments {
 public:
  Arguments(const LaunchPlan& plan, const Problem& problem, Memory& memory, Tensors& tensors)
      : plan_(plan), problem_(problem), scratch_(plan.scratch.size()) {
    addresses_["lse"] = 0;  // of a problem without
    std::map<std::string, std::uint64_t> buffers;
    for (auto& [name, bytes] : tensors.buffers) buffers[name] = memory.add(name, bytes);
    for (const auto& [name, place] : tensors.places)
      addresses_[name] = buffers.at(place.buffer) + place.first;
    for (std::size_t i = 0; i < scratch_.size(); ++i) {
      scratch_[i].assign(static_cast<std::size_t>(plan.scratch[i].bytes), std::byte{0xff});
      addresses_[plan.scratch[i].name] = memory.add(plan.scratch[i].name, scratch_[i]);
    }
  }

  Result<Launch> launch(const StagePlan& stage, const Program& program) const {
    Launch launch;
    launch.grid = narrowed(stage.grid);
    launch.block = narrowed(stage.block);
    launch.cluster = narrowed(stage.cluster);
    launch.shared_bytes = static_cast<std::size_t>(stage.shared_bytes);
    launch.parameters.resize(program.parameter_bytes);
    if (stage.arguments.size() != program.parameters.size())
      return device_error(fmt::format("{} takes {} arguments, the manifest has {}", program.name,
                                      program.parameters.size(), stage.arguments.size()));
    for (std::size_t i = 0; i < stage.arguments.size(); ++i) {
      const std::string& name = stage.arguments[i];
      const std::size_t offset = program.parameters[i].offset;
      if (const auto* map = find_named(plan_.tensor_maps, name)) {
        launch.maps[offset] = map_of(facts_of(*map, problem_), addresses_.at(map->tensor));
      } else if (const auto scalar = read_scalar(name)) {
        std::memcpy(&launch.parameters[offset], &scalar->bits, scalar->type->bytes);
      } else {
        std::memcpy(&launch.parameters[offset], &addresses_.at(name), sizeof(std::uint64_t));
      }
    }
    return launch;
  }

 private:
  const LaunchPlan& plan_;
  const Problem& problem_;
  std::map<std::string, std::uint64_t> addresses_;
  std::vector<std::vector<std::byte>> scratch_;
};

}  // namespace

Result<Module> Module::parse(std::string_view ptx) {
  Module module;
  FATUNE_TRY(module.syntax, parse_module(ptx));
  return module;
}

Result<Program> Module::entry(const std::string& name, Memory& memory) {
  for (Variable& variable : syntax.variables) {
    if (placed_ || variable.space != Space::kGlobal) continue;
    variable.initial.resize(variable.bytes);
    globals_[variable.name] = memory.add(variable.name, variable.initial);
  }
  placed_ = true;
  for (const EntrySyntax& each : syntax.entries) {
    if (each.name == name) return decode(each, syntax, globals_);
  }
  return environment_error("the PTX has no entry " + name);
}

Status interpret(const Setting& setting, const Candidate& candidate,
                 const std::vector<std::string>& macros, Asynchrony asynchrony, Tensors& tensors) {
  FATUNE_TRY(const std::string text,
             setting.compiler.ptx(compile_request(candidate, setting.limits, macros)));
  FATUNE_TRY(Module module, Module::parse(text));
  FATUNE_TRY(const LaunchPlan plan, launch_plan(candidate, setting.limits));
  Memory memory;
  const Arguments arguments(plan, candidate.problem, memory, tensors);
  for (const StagePlan& stage : plan.stages) {
    if (stage.gemm) return environment_error("a stage is a library's product");
    FATUNE_TRY(const Program program, module.entry(stage.entry, memory));
    FATUNE_TRY(const Launch launch, arguments.launch(stage, program));
    FATUNE_TRY_STATUS(run_grid(program, launch, memory, asynchrony, &tensors.products));
  }
  return {};
}

}  // namespace fatune::ptx
