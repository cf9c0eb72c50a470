// catalog.cpp: Looks up kernels and implementations by name.
#include "cli/options/catalog.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/text.hpp"

namespace fatune::cli {

Result<Catalog> load_catalog(const Settings& settings) {
  return available_kernels(settings.kernel_dirs);
}

Result<KernelRef> find_kernel(const Catalog& catalog, const std::string& name,
                              const std::string& where) {
  for (const KernelRef& kernel : catalog) {
    if (kernel->manifest.name == name) return kernel;
  }
  std::vector<std::string> names;  // without the fixtures that misbehave
  for (const KernelRef& kernel : catalog) {
    if (kernel->manifest.role != Role::kFault) names.push_back(kernel->manifest.name);
  }
  return usage_error(where + ": there is no kernel '" + excerpt(name) + "'" +
                     nearest_hint(name, names, "; did you mean {}?", ".") + " The kernels are " +
                     join(names, ", "));
}

Result<std::vector<KernelRef>> choose_kernels(const Catalog& catalog,
                                              const std::vector<std::string>& names) {
  std::vector<KernelRef> chosen;
  for (const std::string& list : names) {
    for (const std::string& name : split(list, ',')) {
      FATUNE_TRY(KernelRef kernel, find_kernel(catalog, std::string(trim(name))));
      const bool again = std::find(chosen.begin(), chosen.end(), kernel) != chosen.end();
      if (!again) chosen.push_back(std::move(kernel));
    }
  }
  if (!names.empty()) return chosen;
  for (const KernelRef& kernel : catalog) {
    const Manifest& manifest = kernel->manifest;
    if (manifest.tuned_by_default && manifest.operation == attention()) chosen.push_back(kernel);
  }
  if (chosen.empty())
    return usage_error("no kernel is tuned by default; choose with --kernel NAME");
  return chosen;
}

std::vector<KernelRef> kernels_for_types(const std::vector<KernelRef>& kernels,
                                         const std::vector<NamedProblem>& problems) {
  std::vector<KernelRef> chosen;
  std::ranges::copy_if(kernels, std::back_inserter(chosen), [&](const KernelRef& kernel) {
    return std::ranges::any_of(problems, [&](const NamedProblem& each) {
      return is_for_type(kernel->manifest, each.problem);
    });
  });
  return chosen.empty() ? kernels : chosen;
}

Result<KernelRef> reference_kernel(const Catalog& catalog, const OperationRef& operation) {
  for (const KernelRef& kernel : catalog) {
    const Manifest& manifest = kernel->manifest;
    if (manifest.role == Role::kReference && manifest.operation->name == operation->name)
      return kernel;
  }
  return file_error("no kernel of role 'reference' for " + operation->name +
                    ", so nothing can be verified; add one with --kernel-dir");
}

Result<OperationRef> operation_of(const std::vector<KernelRef>& kernels) {
  for (const KernelRef& kernel : kernels) {
    const Manifest& first = kernels.front()->manifest;
    const Manifest& other = kernel->manifest;
    if (other.operation->name == first.operation->name) continue;
    return usage_error("--kernel: " + first.name + " computes " + first.operation->name + " and " +
                       other.name + " " + other.operation->name +
                       "; name kernels of one operation");
  }
  return kernels.empty() ? attention() : kernels.front()->manifest.operation;
}

OperationRef operation_of(const std::vector<std::string>& impls, const Catalog& catalog) {
  for (const std::string& impl : impls) {
    for (const KernelRef& kernel : catalog) {
      const Manifest& manifest = kernel->manifest;
      if (manifest.operation == attention()) continue;
      if (impl == manifest.name || impl == "fatune:" + manifest.name) return manifest.operation;
    }
  }
  return attention();
}

Result<std::vector<std::string>> parse_implementations(const std::string& option,
                                                       const std::string& text) {
  std::vector<std::string> impls;
  if (text == "none") return impls;
  for (std::string_view rest = text;;) {
    const std::size_t end = length_before(rest, ",");
    std::string part(rest.substr(0, end));
    if (part.empty()) return usage_error(option + ": '" + text + "' has an empty name");
    if (std::find(impls.begin(), impls.end(), part) == impls.end()) impls.push_back(part);
    if (end == rest.size()) return impls;
    rest.remove_prefix(end + 1);
  }
}

bool names_reference(const std::vector<std::string>& impls, const KernelRef& reference) {
  return std::find(impls.begin(), impls.end(), reference->manifest.name) != impls.end();
}

Result<MakeBaselines> make_baselines(const std::vector<std::string>& impls,
                                     const KernelRef& reference, const Catalog& catalog,
                                     const Settings& settings) {
  std::vector<std::string> others = impls;
  std::erase(others, reference->manifest.name);
  const OutsideOptions options = outside_options(settings);
  MakeBaselines make = [others, catalog, options](const Problem& problem) {
    return baseline_implementations(others, problem, catalog, options);
  };
  FATUNE_TRY_STATUS(check_implementations(others, catalog, reference->manifest.operation->name));
  return make;
}

}  // namespace fatune::cli
