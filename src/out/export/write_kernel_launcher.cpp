// write_kernel_launcher.cpp - a header line with the parameters, then a line for each problem.
#include <algorithm>
#include <map>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/fields.hpp"
#include "core/file.hpp"
#include "core/log.hpp"
#include "core/units.hpp"
#include "out/export/formats.hpp"

namespace fatune {
namespace {

constexpr std::size_t kDimensions = 3;  ///< of a problem, to kernel_launcher

/// kernel_launcher makes the file's name of the key; only letters, digits and "_-." stay as they
/// are.
std::string key_of(const KernelFacts& facts) {
  const Problem& p = facts.problem;
  if (p.custom) {
    std::string key = fmt::format("{}-{}", facts.kernel, name(p.dtype));
    for (std::size_t i = kDimensions; i < p.custom->sizes.size(); ++i)
      key += fmt::format("-{}{}", p.custom->sizes[i].name, p.custom->sizes[i].value);
    return key;
  }
  const std::int64_t group = p.heads / p.kv_heads;
  return fmt::format("{}-d{}-{}{}{}{}", facts.kernel, p.head_dim, name(p.dtype),
                     p.mask == Mask::kCausal ? "-causal" : "",
                     group == 1 ? "" : fmt::format("-g{}", group), p.lse ? "-lse" : "");
}

/// Of a custom operation the first sizes; the others are in the key.
Json problem_size(const Problem& p) {
  if (!p.custom) return {p.seq_q, p.seq_kv, p.batch * p.heads};
  Json sizes = Json::array();
  for (std::size_t i = 0; i < std::min(kDimensions, p.custom->sizes.size()); ++i)
    sizes.push_back(p.custom->sizes[i].value);
  return sizes;
}

std::string header(const std::string& key, const Json& config) {
  Json names = Json::array();
  for (const auto& item : config.items()) names.push_back(item.key());
  return dump({{"version", "1.0"},
               {"key", key},
               {"objective", "time"},
               {"tunable_parameters", std::move(names)}}) +
         "\n";
}

std::string line(const KernelFacts& facts, const Json& config) {
  const Problem& p = facts.problem;
  Json values = Json::array();
  for (const Json& value : config) values.push_back(value);
  return dump({{"config", std::move(values)},
               {"problem_size", problem_size(p)},
               {"time", facts.measured->hot_us / kUsPerMs},
               {"environment",
                {{"device_name", facts.device_name},
                 {"fatune_version", facts.fatune},
                 {"fatune_id", facts.id},
                 {"fatune_problem", to_json(p)},
                 {"fatune_verified", facts.verified},
                 {"fatune_recorded", facts.recorded},
                 {"fatune_command", facts.command}}}}) +
         "\n";
}

}  // namespace

Result<std::vector<std::filesystem::path>> write_kernel_launcher(
    std::span<const ExportedKernel> kernels, const std::filesystem::path& folder) {
  std::map<std::string, std::string> texts;  // key to file
  for (const ExportedKernel& kernel : kernels) {
    const KernelFacts& facts = kernel.facts;
    if (!facts.measured) {
      log::warn(fmt::format(
          "--to kernel-launcher: {} was not measured, and its format needs a time", kernel.name));
      continue;
    }
    FATUNE_TRY(const Json config, parse_json(facts.config, kernel.name + "'s config"));
    const std::string key = key_of(facts);
    std::string& text = texts[key];
    if (text.empty()) text = header(key, config);
    text += line(facts, config);
  }
  if (texts.empty()) {
    return usage_error(
        "--to kernel-launcher: no kernel was measured, so there is nothing to write");
  }
  std::vector<std::filesystem::path> files;
  for (const auto& [key, text] : texts) {
    files.push_back(folder / (key + ".wisdom"));
    FATUNE_TRY_STATUS(replace_file(files.back(), text));
  }
  return files;
}

}  // namespace fatune
