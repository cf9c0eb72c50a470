// contestants.cpp - finds the kernel or the implementation from elsewhere that a name means.
#include "tune/evaluate/contestants.hpp"

#include <algorithm>
#include <utility>

#include "core/text.hpp"
#include "worker/protocol/external_description.hpp"

namespace fatune {
namespace {

constexpr std::string_view kPrefix = "fatune:";

KernelRef find_kernel(const std::vector<KernelRef>& kernels, std::string_view name) {
  if (name.starts_with(kPrefix)) name.remove_prefix(kPrefix.size());
  const auto found = std::find_if(kernels.begin(), kernels.end(), [&](const KernelRef& kernel) {
    return kernel->manifest.name == name;
  });
  return found == kernels.end() ? nullptr : *found;
}

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
Status check_computes(const std::string& impl, const std::optional<Implementation>& outside,
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

}  // namespace

Status check_implementations(const std::vector<std::string>& impls,
                             const std::vector<KernelRef>& kernels, const OutsideOptions& options,
                             std::string_view operation) {
  for (const std::string& impl : impls) {
    FATUNE_TRY(const auto outside, parse_implementation(impl));
    const KernelRef kernel = outside ? nullptr : find_kernel(kernels, impl);
    if (!outside && !kernel) return unknown_name(impl, kernels, options);
    FATUNE_TRY_STATUS(check_computes(impl, outside, kernel, operation));
    if (outside && outside->origin == Origin::kExternal)
      FATUNE_TRY_STATUS(load_external(outside->variant, options.external_folders));
  }
  return {};
}

Result<std::vector<Contestant>> baseline_contestants(const std::vector<std::string>& impls,
                                                     const Problem& problem,
                                                     const std::vector<KernelRef>& kernels,
                                                     const OutsideOptions& options) {
  std::vector<Contestant> rows;
  for (const std::string& impl : impls) {
    FATUNE_TRY(const auto outside, parse_implementation(impl));
    const KernelRef kernel = outside ? nullptr : find_kernel(kernels, impl);
    if (outside || kernel)
      FATUNE_TRY_STATUS(check_computes(impl, outside, kernel, operation_name(problem)));
    Contestant row{impl, "baseline", {nullptr, {}, problem}, {}};
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
