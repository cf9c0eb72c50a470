// workbench.cpp: Finds NVRTC as fatune does, and parses settings.
#include "ptx/workbench.hpp"

#include <nlohmann/json.hpp>

#include "core/text.hpp"
#include "gpu/library.hpp"
#include "model/space/rules.hpp"

namespace fatune::ptx {
namespace {

Json value_of(const std::string& text) {
  if (const auto number = parse_integer(text)) return *number;
  if (text == "true" || text == "false") return text == "true";
  return text;
}

}  // namespace

Result<Workbench> Workbench::open(const std::string& arch,
                                  const std::vector<std::filesystem::path>& folders) {
  const std::filesystem::path source = FATUNE_SOURCE_DIR;
  FATUNE_TRY(const Arch target, parse_arch(arch));
  FATUNE_TRY(const DeviceLimits limits, typical_limits(target));
  std::vector<std::filesystem::path> all = {source / "kernels"};
  all.insert(all.end(), folders.begin(), folders.end());
  FATUNE_TRY(std::vector<KernelRef> kernels, available_kernels(all));
  const Toolchain toolchain = find_toolchain(gpu::default_search_paths("", {source / ".deps"}));
  FATUNE_TRY(Nvrtc compiler, Nvrtc::open(toolchain));
  return Workbench{std::move(compiler), limits, std::move(kernels)};
}

Result<KernelRef> Workbench::kernel(const std::string& name) const {
  for (const KernelRef& each : kernels) {
    if (each->manifest.name == name) return each;
  }
  return usage_error("no kernel '" + name + "'");
}

Result<Candidate> Workbench::candidate(const std::string& name, const std::string& config,
                                       const Attention& problem) const {
  FATUNE_TRY(const KernelRef found, kernel(name));
  const Manifest& manifest = found->manifest;
  Json settings = to_json(default_config(manifest));
  for (const std::string& setting : split(config, ',')) {
    const std::size_t equals = setting.find('=');
    if (equals != std::string::npos)
      settings[setting.substr(0, equals)] = value_of(setting.substr(equals + 1));
  }
  FATUNE_TRY(Config read, config_from_json(manifest, settings, "--config"));
  Candidate made{found, std::move(read), problem};
  FATUNE_TRY(const std::string reason, impossible_reason(made, limits));
  if (reason.empty()) return made;
  return usage_error(name + " cannot run: " + reason);
}

}  // namespace fatune::ptx
