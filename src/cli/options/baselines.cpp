// baselines.cpp - splits lists of implementations and looks their names up.
#include "cli/options/baselines.hpp"

#include <algorithm>
#include <utility>

#include "cli/options/services.hpp"
#include "core/text.hpp"

namespace fatune::cli {

Result<std::vector<std::string>> parse_implementations(const std::string& option,
                                                       const std::string& text) {
  std::vector<std::string> impls;
  if (text == "none") return impls;
  for (const std::string& part : split(text, ',')) {
    if (part.empty()) return usage_error(option + ": '" + text + "' has an empty name");
    if (std::find(impls.begin(), impls.end(), part) == impls.end()) impls.push_back(part);
  }
  return impls;
}

bool names_reference(const std::vector<std::string>& impls, const KernelRef& reference) {
  return std::find(impls.begin(), impls.end(), reference->manifest.name) != impls.end();
}

Result<MakeBaselines> make_baselines(const std::vector<std::string>& impls,
                                     const KernelRef& reference,
                                     const std::vector<KernelRef>& catalog,
                                     const Settings& settings) {
  std::vector<std::string> others = impls;
  std::erase(others, reference->manifest.name);
  const OutsideOptions options = outside_options(settings);
  MakeBaselines make = [others, catalog, options](const Problem& problem) {
    return baseline_contestants(others, problem, catalog, options);
  };
  FATUNE_TRY_STATUS(
      check_implementations(others, catalog, options, reference->manifest.operation->name));
  return make;
}

}  // namespace fatune::cli
