// implementations.cpp - finds the kernel or the implementation from elsewhere that a name means.
#include "tune/evaluate/implementations.hpp"

#include <algorithm>
#include <utility>

#include "core/run_program.hpp"
#include "core/text.hpp"
#include "worker/protocol/external_description.hpp"

namespace fatune {
namespace {

Error unknown_name(const std::string& impl, const std::vector<KernelRef>& kernels,
                   const OutsideOptions& options) {
  std::vector<std::string> known = implementation_names(options);
  for (const KernelRef& kernel : kernels) {
    if (kernel->manifest.role != Role::kFault) known.push_back(kernel->manifest.name);
  }
  auto nearest = nearest_name(impl, known);
  const auto variant = std::find_if(known.begin(), known.end(), [&](const std::string& name) {
    return name.starts_with(impl + ":");
  });
  if (!nearest && variant != known.end()) nearest = *variant;  // "torch": "torch:flash"
  return usage_error(
      "there is no implementation '" + impl + "'" +
      (nearest ? "; did you mean " + *nearest + "?" : "; there are " + join(known, ", ")));
}

/// Libraries know attention alone; an external program's description says what it computes.
Status check_computes(const std::string& impl, const std::optional<OutsideName>& outside,
                      const KernelRef& kernel, std::string_view operation) {
  if (outside && outside->origin == Origin::kExternal) return {};
  const std::string_view computes =
      kernel ? std::string_view(kernel->manifest.operation->name) : "attention";
  if (computes == operation) return {};
  return usage_error(impl + " computes " + std::string(computes) + ", not " +
                     std::string(operation) + "; compare with kernels of " +
                     std::string(operation) + (operation == "attention" ? "" : ", its reference") +
                     " or external: programs");
}

/// What its origin needs to know on the worker's side.
Result<OutsideProgram> outside_program(const OutsideName& name, const Problem& problem,
                                       const OutsideOptions& options) {
  OutsideProgram program;
  program.impl = name.impl();
  if (name.origin == Origin::kExternal) {
    FATUNE_TRY(program.settings,
               external_settings(name.variant, problem,
                                 {options.external_folders, options.program_folders}));
    return program;
  }
  if (name.origin == Origin::kTorch) {
    const auto python = find_program(options.python, options.program_folders);
    program.settings["python"] = python ? python->string() : options.python;
    return program;
  }
  Json folders = Json::array();
  for (const auto& folder : options.library_folders) folders.push_back(folder.string());
  program.settings["library_folders"] = std::move(folders);
  return program;
}

}  // namespace

std::vector<std::string> implementation_names(const OutsideOptions& options) {
  std::vector<std::string> names = {"cudnn",           "cudnn:best", "torch:flash", "torch:cudnn",
                                    "torch:efficient", "torch:math", "torch:auto"};
  for (const std::string& name : external_names(options.external_folders))
    names.push_back(std::string(kExternalPrefix) + name);
  return names;
}

Status check_implementations(const std::vector<std::string>& impls,
                             const std::vector<KernelRef>& kernels, const OutsideOptions& options,
                             std::string_view operation) {
  for (const std::string& impl : impls) {
    FATUNE_TRY(const auto outside, parse_outside_name(impl));
    const KernelRef kernel = outside ? nullptr : kernel_named(kernels, impl);
    if (!outside && !kernel) return unknown_name(impl, kernels, options);
    FATUNE_TRY_STATUS(check_computes(impl, outside, kernel, operation));
    if (outside && outside->origin == Origin::kExternal)
      FATUNE_TRY_STATUS(load_external(outside->variant, options.external_folders));
  }
  return {};
}

Result<std::vector<Implementation>> baseline_implementations(const std::vector<std::string>& impls,
                                                             const Problem& problem,
                                                             const std::vector<KernelRef>& kernels,
                                                             const OutsideOptions& options) {
  std::vector<Implementation> rows;
  for (const std::string& impl : impls) {
    FATUNE_TRY(const auto outside, parse_outside_name(impl));
    const KernelRef kernel = outside ? nullptr : kernel_named(kernels, impl);
    if (outside || kernel)
      FATUNE_TRY_STATUS(check_computes(impl, outside, kernel, operation_name(problem)));
    Implementation row{impl, "baseline", {nullptr, {}, problem}, {}};
    if (outside) {
      FATUNE_TRY(row.outside, outside_program(*outside, problem, options));
    } else if (kernel) {
      row.candidate = {kernel, default_config(kernel->manifest), problem};
    } else {
      return unknown_name(impl, kernels, options);
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace fatune
