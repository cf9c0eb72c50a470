// write_torch.cpp: Selects the parts of a module for PyTorch and writes its file.
#include <algorithm>
#include <string_view>

#include <nlohmann/json.hpp>

#include "core/fields.hpp"
#include "core/file.hpp"
#include "export/formats.hpp"
#include "export/python_module.hpp"

namespace fatune {
namespace {

/// The order of the parts in the module.
const std::vector<std::string_view> kAttentionParts = {
    "torch_problem.py", "torch_driver.py",   "torch_queue.py", "torch_launch.py",
    "torch_choice.py",  "torch_operator.py", "torch_fp8.py",   "torch_check.py"};
const std::vector<std::string_view> kCustomParts = {"torch_custom.py", "torch_driver.py",
                                                    "torch_queue.py", "torch_custom_operator.py"};

bool is_custom(const ExportedKernel& kernel) { return kernel.facts.problem.custom(); }

/// Returns PyTorch's strides of attention's tensors, in elements: batch, head, row, column.
Json strides_json(const Attention& problem) {
  Json json;
  for (const char* tensor : {"q", "k", "v", "out"})
    json[tensor] = strides_of(problem, tensor).all();
  return json;
}

Json facts_for_torch(const KernelFacts& facts) {
  Json json = to_json(facts);
  if (!facts.problem.custom()) json["strides"] = strides_json(facts.problem.as_attention());
  return json;
}

}  // namespace

Result<std::string> torch_module(std::span<const ExportedKernel> kernels) {
  const auto customs = std::ranges::count_if(kernels, is_custom);
  if (customs != 0 && customs != static_cast<std::ptrdiff_t>(kernels.size())) {
    return usage_error(
        "--to torch: kernels of attention and of custom operations are different modules; export "
        "them one after the other");
  }
  return python_module(customs == 0 ? kAttentionParts : kCustomParts, kernels, facts_for_torch);
}

Result<std::vector<std::filesystem::path>> write_torch(std::span<const ExportedKernel> kernels,
                                                       const std::filesystem::path& target) {
  FATUNE_TRY(const std::string module, torch_module(kernels));
  const bool custom = !kernels.empty() && is_custom(kernels.front());
  const char* const name = custom ? "custom.py" : "sdpa.py";
  const bool is_file = target.extension() == ".py";
  FATUNE_TRY_STATUS(is_file ? replace_file(target, module) : write_below(target, name, module));
  return std::vector{is_file ? target : target / name};
}

}  // namespace fatune
