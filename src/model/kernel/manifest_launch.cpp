// manifest_launch.cpp: Parses a manifest's scratch buffers, tensor maps and stages.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "core/text.hpp"
#include "model/kernel/manifest_parse.hpp"
#include "model/kernel/vocabulary.hpp"

namespace fatune {
namespace {

const std::array<std::string, 4> kTensors = {"q", "k", "v", "out"};
const std::string kLse = "lse";  // fp32: no tensor map and no product reads it
constexpr std::size_t kRank = 4;
constexpr std::size_t kDimensions = 3;

bool contains(std::span<const std::string> names, const std::string& name) {
  return std::ranges::count(names, name) > 0;
}

Result<std::string> parse_new_argument(const Fields& fields, std::vector<std::string>& arguments) {
  FATUNE_TRY(std::string name, parse_identifier(fields, "name"));
  if (contains(arguments, name)) {
    return fields.error("name", fmt::format("is '{}', which names another argument already", name));
  }
  arguments.push_back(name);
  return name;
}

Result<std::string> parse_expression(const Fields& fields, std::string_view key,
                                     std::string fallback, std::span<const std::string> known) {
  FATUNE_TRY(std::string text, fields.text_or(key, std::move(fallback)));
  FATUNE_TRY_STATUS(check_expression(text, place(fields, key), known));
  return text;
}

Result<std::vector<std::string>> parse_expressions(const Fields& fields, std::string_view key,
                                                   std::size_t count,
                                                   std::span<const std::string> known) {
  FATUNE_TRY(std::vector<std::string> texts, fields.texts_or(key, {}));
  if (texts.size() != count) {
    return fields.error(key, fields.has(key) ? fmt::format("must be {} expressions, but has {}",
                                                           count, texts.size())
                                             : "is missing");
  }
  for (std::size_t i = 0; i < count; ++i) {
    FATUNE_TRY_STATUS(
        check_expression(texts[i], place(fields, fmt::format("{}[{}]", key, i)), known));
  }
  return texts;
}

/// Reads a number or an expression.
Result<std::string> parse_swizzle(const Fields& fields, std::span<const std::string> known) {
  if (fields.has("swizzle") && fields.json()["swizzle"].is_string())
    return parse_expression(fields, "swizzle", "0", known);
  FATUNE_TRY(const std::int64_t bytes, fields.integer_or("swizzle", 0));
  if (is_swizzle(bytes)) return std::to_string(bytes);
  return fields.error("swizzle", fmt::format("is {}, which is not one of 0, 32, 64, 128", bytes));
}

Result<TensorMapSpec> parse_tensor_map(const Fields& fields, std::vector<std::string>& arguments,
                                       std::span<const ScratchSpec> scratch,
                                       std::span<const std::string> known) {
  FATUNE_TRY_STATUS(fields.only({"name", "tensor", "sizes", "box", "swizzle"}));
  TensorMapSpec map;
  FATUNE_TRY(map.name, parse_new_argument(fields, arguments));
  std::vector<std::string> tensors(kTensors.begin(), kTensors.end());
  for (const ScratchSpec& each : scratch) tensors.push_back(each.name);
  FATUNE_TRY(map.tensor, parse_one_of(fields, "tensor", nullptr, tensors));
  if (contains(kTensors, map.tensor)) {
    if (fields.has("sizes")) {
      return fields.error(
          "sizes", "are told for a scratch alone; those of " + map.tensor + " are the problem's");
    }
  } else {
    FATUNE_TRY(map.sizes, parse_expressions(fields, "sizes", kRank, known));
  }
  FATUNE_TRY(map.box, parse_expressions(fields, "box", kRank, known));
  FATUNE_TRY(map.swizzle, parse_swizzle(fields, known));
  return map;
}

Result<StageSpec> parse_kernel_stage(const Fields& fields, std::span<const std::string> arguments,
                                     std::span<const std::string> known) {
  FATUNE_TRY_STATUS(fields.only({"when", "entry", "grid", "block", "cluster", "shared_bytes",
                                 "static_shared_bytes", "dependent", "arguments"}));
  StageSpec stage;
  FATUNE_TRY(stage.entry, fields.text("entry"));
  if (!matches(stage.entry, "[A-Za-z_][A-Za-z0-9_]*")) {
    return fields.error("entry",
                        fmt::format("is '{}', which is not a function's name", stage.entry));
  }
  FATUNE_TRY(stage.when, fields.text_or("when", ""));
  if (!stage.when.empty())
    FATUNE_TRY_STATUS(check_expression(stage.when, place(fields, "when"), known));
  FATUNE_TRY(stage.grid, parse_expressions(fields, "grid", kDimensions, known));
  FATUNE_TRY(stage.block, parse_expressions(fields, "block", kDimensions, known));
  if (fields.has("cluster")) {
    FATUNE_TRY(stage.cluster, parse_expressions(fields, "cluster", kDimensions, known));
  }
  FATUNE_TRY(stage.shared_bytes, parse_expression(fields, "shared_bytes", "0", known));
  FATUNE_TRY(stage.static_shared_bytes,
             parse_expression(fields, "static_shared_bytes", "0", known));
  FATUNE_TRY(stage.dependent, parse_expression(fields, "dependent", "0", known));
  FATUNE_TRY(stage.arguments, fields.texts_or("arguments", {}));
  if (stage.arguments.empty()) return fields.error("arguments", "must name at least one argument");
  for (std::size_t i = 0; i < stage.arguments.size(); ++i) {
    if (contains(arguments, stage.arguments[i])) continue;
    return fields.error(
        fmt::format("arguments[{}]", i),
        fmt::format("is '{}', which is {}", stage.arguments[i],
                    nearest_hint(stage.arguments[i], arguments, "unknown; did you mean '{}'?",
                                 "not one of " + join(arguments, ", "))));
  }
  return stage;
}

/// Refuses fields that only attention supports; each error says why.
Status check_declared(const Fields& root, const DeclaredOperation& operation,
                      const Manifest& manifest) {
  if (root.has("tensor_maps")) {
    return root.error("tensor_maps",
                      "describe attention's tensors; a kernel of another operation has none");
  }
  const auto inputs =
      static_cast<std::size_t>(std::ranges::count(operation.tensors, false, &TensorSpec::output));
  for (std::size_t i = 0; i < manifest.stages.size(); ++i) {
    const std::string stage = fmt::format("stages[{}]", i);
    if (manifest.stages[i].gemm)
      return root.error(stage + ".gemm", "is for kernels of attention; write a stage of your own");
    if (manifest.stages[i].dependent == "0" || inputs <= kMostEarlyInputs) continue;
    return root.error(stage + ".dependent",
                      fmt::format("needs the gate early_start, which exchanges at most {} inputs; "
                                  "{} has {}",
                                  kMostEarlyInputs, operation.name, inputs));
  }
  return {};
}

/// Checks that supports.lse agrees with the stages' arguments.
Status check_lse(const Fields& root, const Manifest& manifest) {
  const bool passed = std::ranges::any_of(manifest.stages, [](const StageSpec& stage) {
    return !stage.gemm && contains(stage.arguments, kLse);
  });
  if (passed == manifest.lse) return {};
  return root.error(manifest.lse ? "supports.lse" : "stages",
                    manifest.lse ? "is true, but no stage has lse among its arguments"
                                 : "have lse among their arguments, but supports.lse is not true");
}

}  // namespace

Status parse_launch(const Fields& root, Manifest& manifest) {
  const std::vector<std::string> known = expression_names(manifest);
  std::vector<std::string> arguments = manifest.operation->tensor_names();
  FATUNE_TRY(const std::vector<Fields> scratch, root.objects_or_empty("scratch"));
  for (const Fields& fields : scratch) {
    FATUNE_TRY_STATUS(fields.only({"name", "bytes"}));
    ScratchSpec& spec = manifest.scratch.emplace_back();
    FATUNE_TRY(spec.name, parse_new_argument(fields, arguments));
    FATUNE_TRY(spec.bytes, fields.text("bytes"));
    FATUNE_TRY_STATUS(check_expression(spec.bytes, place(fields, "bytes"), known));
  }
  std::vector<std::string> buffers = arguments;
  std::erase(buffers, kLse);
  if (manifest.operation->declared() == nullptr) std::erase_if(buffers, is_descale);
  FATUNE_TRY(const std::vector<Fields> maps, root.objects_or_empty("tensor_maps"));
  for (const Fields& fields : maps) {
    FATUNE_TRY(manifest.tensor_maps.emplace_back(),
               parse_tensor_map(fields, arguments, manifest.scratch, known));
  }
  FATUNE_TRY(const std::vector<Fields> stages, root.objects_or_empty("stages"));
  if (stages.empty()) return root.error("stages", "must have at least one stage");
  for (const Fields& fields : stages) {
    StageSpec& stage = manifest.stages.emplace_back();
    if (fields.has("gemm")) {
      FATUNE_TRY_STATUS(fields.only({"gemm"}));
      FATUNE_TRY(const Fields gemm, fields.object("gemm"));
      FATUNE_TRY(stage.gemm, parse_gemm(gemm, manifest, buffers, known));
    } else {
      FATUNE_TRY(stage, parse_kernel_stage(fields, arguments, known));
    }
  }
  const DeclaredOperation* declared = manifest.operation->declared();
  return declared != nullptr ? check_declared(root, *declared, manifest)
                             : check_lse(root, manifest);
}

}  // namespace fatune
