// manifest_launch.cpp: Checks a manifest's scratch buffers, tensor maps and stages.
#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/text.hpp"
#include "model/kernel/manifest_check.hpp"
#include "model/kernel/runtime_sizes.hpp"
#include "model/kernel/vocabulary.hpp"
#include "model/wisdom/scalar.hpp"

namespace fatune {
namespace {

const std::array<std::string, 4> kTensors = {"q", "k", "v", "out"};
const std::string kLse = "lse";  // fp32: no tensor map and no product reads it

/// Takes the name of a scratch or tensor map as a possible argument.
Status take_argument(const Checks& check, const std::string& path, const std::string& name,
                     std::vector<std::string>& arguments) {
  if (contains(arguments, name)) {
    return check.error(path + ".name",
                       fmt::format("is '{}', which names another argument already", name));
  }
  arguments.push_back(name);
  return {};
}

Status check_tensor_map(const TensorMapSpec& map, const std::string& path, const Manifest& manifest,
                        const Checks& check) {
  std::vector<std::string> tensors(kTensors.begin(), kTensors.end());
  for (const ScratchSpec& each : manifest.scratch) tensors.push_back(each.name);
  if (!contains(tensors, map.tensor)) {
    return check.error(path + ".tensor", fmt::format("is '{}', which is not one of {}", map.tensor,
                                                     join(tensors, ", ")));
  }
  const bool of_problem = contains(kTensors, map.tensor);
  if (of_problem && !map.sizes.empty()) {
    return check.error(path + ".sizes", "are told for a scratch alone; those of " + map.tensor +
                                            " are the problem's");
  }
  if (!of_problem && map.sizes.empty()) return check.error(path + ".sizes", "is missing");
  FATUNE_TRY_STATUS(check.texts(path + ".sizes", map.sizes));
  FATUNE_TRY_STATUS(check.texts(path + ".box", map.box));
  return check.text(path + ".swizzle", map.swizzle);
}

Status check_scalar(const std::string& argument, const std::string& path, const Checks& check,
                    const Operation& operation) {
  if (operation.declared() == nullptr) {
    return check.error(path, fmt::format("is '{}', but a kernel of attention takes no values: its "
                                         "template has macros",
                                         argument));
  }
  const auto split = split_scalar(argument);
  if (split) return check.text(path, std::string(split->value));
  return check.error(path, fmt::format("is '{}', which is neither a name nor a value as \"i32 8\", "
                                       "whose type is one of {}",
                                       argument, scalar_types()));
}

Status check_stage(const StageSpec& stage, const std::string& path, const Checks& check,
                   std::span<const std::string> arguments, const Operation& operation) {
  if (!stage.when.empty()) FATUNE_TRY_STATUS(check.text(path + ".when", stage.when));
  FATUNE_TRY_STATUS(check.texts(path + ".grid", stage.grid));
  FATUNE_TRY_STATUS(check.texts(path + ".block", stage.block));
  FATUNE_TRY_STATUS(check.texts(path + ".cluster", stage.cluster));
  FATUNE_TRY_STATUS(check.text(path + ".shared_bytes", stage.shared_bytes));
  FATUNE_TRY_STATUS(check.text(path + ".static_shared_bytes", stage.static_shared_bytes));
  FATUNE_TRY_STATUS(check.text(path + ".dependent", stage.dependent));
  for (std::size_t i = 0; i < stage.arguments.size(); ++i) {
    const std::string& argument = stage.arguments[i];
    if (contains(arguments, argument)) continue;
    const std::string place = fmt::format("{}.arguments[{}]", path, i);
    if (is_scalar(argument)) {
      FATUNE_TRY_STATUS(check_scalar(argument, place, check, operation));
      continue;
    }
    return check.error(place,
                       fmt::format("is '{}', which is {}", argument,
                                   nearest_hint(argument, arguments, "unknown; did you mean '{}'?",
                                                "not one of " + join(arguments, ", "))));
  }
  return {};
}

/// Refuses fields that only attention supports; each error says why.
Status check_declared(const Json& root, const DeclaredOperation& operation,
                      const std::vector<StageSpec>& stages, const Checks& check) {
  if (root.contains("tensor_maps")) {
    return check.error("tensor_maps",
                       "describe attention's tensors; a kernel of another operation has none");
  }
  const auto inputs =
      static_cast<std::size_t>(std::ranges::count(operation.tensors, false, &TensorSpec::output));
  for (std::size_t i = 0; i < stages.size(); ++i) {
    const std::string stage = fmt::format("stages[{}]", i);
    if (stages[i].gemm)
      return check.error(stage + ".gemm", "is for kernels of attention; write a stage of your own");
    if (stages[i].dependent == "0") continue;
    const auto both = std::ranges::find_if(
        operation.tensors, [](const TensorSpec& each) { return each.output && is_read(each); });
    if (both != operation.tensors.end()) {
      return check.error(stage + ".dependent",
                         fmt::format("excludes {}, which is read and written: the gate early_start "
                                     "exchanges inputs late",
                                     both->name));
    }
    if (inputs <= kMostEarlyInputs) continue;
    return check.error(stage + ".dependent",
                       fmt::format("needs the gate early_start, which exchanges at most {} inputs; "
                                   "{} has {}",
                                   kMostEarlyInputs, operation.name, inputs));
  }
  return {};
}

Status check_constants(const Manifest& manifest, const Checks& check) {
  if (manifest.constants.empty()) return {};
  const DeclaredOperation* const declared = manifest.operation->declared();
  if (declared == nullptr)
    return check.error("constants", "are for kernels of an operation that a manifest declares");
  std::vector<std::string> inputs;
  for (const TensorSpec& tensor : declared->tensors) {
    if (!tensor.output) inputs.push_back(tensor.name);
  }
  for (const ConstantSpec& each : manifest.constants) {
    if (!matches(each.symbol, "[A-Za-z_][A-Za-z0-9_:]*"))
      return check.error("constants",
                         fmt::format("has '{}', which is no variable's name", each.symbol));
    if (!contains(inputs, each.tensor))
      return check.error("constants." + each.symbol,
                         fmt::format("is '{}', which is not one of the inputs {}", each.tensor,
                                     join(inputs, ", ")));
    for (const std::string& extent : find_named(declared->tensors, each.tensor)->shape) {
      if (depends_on(extent, runtime_sizes(*declared)))
        return check.error("constants." + each.symbol,
                           fmt::format("is '{}', whose extent '{}' has a run-time size; the size "
                                       "of a variable is compiled in: pass it as an argument",
                                       each.tensor, extent));
    }
  }
  for (std::size_t i = 0; i < manifest.stages.size(); ++i) {
    if (manifest.stages[i].dependent == "0") continue;
    return check.error(
        fmt::format("stages[{}].dependent", i),
        "excludes constants: the gate early_start exchanges inputs after their copy");
  }
  return {};
}

/// Checks that supports.lse agrees with the stages' arguments.
Status check_lse(const Manifest& manifest, const Checks& check) {
  const bool passed = std::ranges::any_of(manifest.stages, [](const StageSpec& stage) {
    return !stage.gemm && contains(stage.arguments, kLse);
  });
  if (passed == manifest.lse) return {};
  return check.error(manifest.lse ? "supports.lse" : "stages",
                     manifest.lse ? "is true, but no stage has lse among its arguments"
                                  : "have lse among their arguments, but supports.lse is not true");
}

}  // namespace

Status check_launch(const Json& root, const Manifest& manifest) {
  const Checks check{manifest.where, expression_names(manifest)};
  std::vector<std::string> arguments = manifest.operation->tensor_names();
  for (std::size_t i = 0; i < manifest.scratch.size(); ++i) {
    const std::string path = fmt::format("scratch[{}]", i);
    FATUNE_TRY_STATUS(take_argument(check, path, manifest.scratch[i].name, arguments));
    FATUNE_TRY_STATUS(check.text(path + ".bytes", manifest.scratch[i].bytes));
  }
  std::vector<std::string> buffers = arguments;
  std::erase(buffers, kLse);
  if (manifest.operation->declared() == nullptr) {
    std::erase_if(buffers, is_descale);
    std::erase_if(buffers, is_optional);
  }
  for (std::size_t i = 0; i < manifest.tensor_maps.size(); ++i) {
    const std::string path = fmt::format("tensor_maps[{}]", i);
    FATUNE_TRY_STATUS(take_argument(check, path, manifest.tensor_maps[i].name, arguments));
    FATUNE_TRY_STATUS(check_tensor_map(manifest.tensor_maps[i], path, manifest, check));
  }
  for (std::size_t i = 0; i < manifest.stages.size(); ++i) {
    const StageSpec& stage = manifest.stages[i];
    const std::string path = fmt::format("stages[{}]", i);
    FATUNE_TRY_STATUS(stage.gemm ? check_gemm(*stage.gemm, path + ".gemm", manifest, check, buffers)
                                 : check_stage(stage, path, check, arguments, *manifest.operation));
  }
  FATUNE_TRY_STATUS(check_constants(manifest, check));
  const DeclaredOperation* declared = manifest.operation->declared();
  return declared != nullptr ? check_declared(root, *declared, manifest.stages, check)
                             : check_lse(manifest, check);
}

}  // namespace fatune
