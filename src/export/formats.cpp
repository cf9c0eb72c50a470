// formats.cpp: Defines the table of export formats and writes the formats that are text files.
#include "export/formats.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/fields.hpp"
#include "core/file.hpp"
#include "core/log.hpp"
#include "core/text.hpp"
#include "core/units.hpp"
#include "model/problem/suite.hpp"

namespace fatune {
namespace {

using Files = std::vector<std::filesystem::path>;
/// Names and contents of one kernel's files.
using Parts = std::vector<std::pair<std::string, std::string>>;

/// Returns machine code and fatune.launch/1.
Parts cubin_parts(const ExportedKernel& kernel) {
  return {{kernel.facts.cubin.file, kernel.cubin},
          {kernel.name + ".json", dump_pretty(to_json(kernel.facts))}};
}

Parts source_parts(const ExportedKernel& kernel) { return {{kernel.name + ".cu", kernel.source}}; }

Parts header_parts(const ExportedKernel& kernel) {
  return {{kernel.name + ".h", c_header(kernel)}};
}

/// Returns a config file for --config, marked if unverified or recorded.
Parts config_parts(const ExportedKernel& kernel) {
  Json json = {{"kernel", kernel.facts.kernel}};
  const Json whole = to_json(kernel.facts);
  for (const char* field : {"config", "problem", "verified", "recorded", "measured", "command"})
    json[field] = whole.at(field);
  return {{kernel.name + ".config.json", dump_pretty(json)}};
}

template <Parts (*kParts)(const ExportedKernel&)>
Result<Files> write_each(std::span<const ExportedKernel> kernels,
                         const std::filesystem::path& folder) {
  Files files;
  for (const ExportedKernel& kernel : kernels) {
    for (const auto& [name, content] : kParts(kernel)) {
      files.push_back(folder / name);
      FATUNE_TRY_STATUS(write_below(folder, name, content));
    }
  }
  return files;
}

constexpr ExportFormat kFormats[] = {
    {"cubin", "machine code, and launch facts (fatune.launch/1) beside it",
     write_each<cubin_parts>},
    {"source", "one self-contained .cu", write_each<source_parts>},
    {"header", "one C99 header with the machine code and its launch", write_each<header_parts>},
    {"json", "the config alone, as --config takes it", write_each<config_parts>},
    {"wisdom", "a folder of kernels that libfatune_rt opens; one that is there grows",
     write_wisdom},
    {"kernel-launcher", "configs and times as wisdom files of kernel_launcher",
     write_kernel_launcher},
    {"torch", "one Python file: a function for PyTorch, sdpa.py unless --out names it", write_torch,
     ".py"},
};

/// Formats of other benchmarks, which the Python package writes.
constexpr std::string_view kPythonFormats[] = {"flashinfer-trace", "kernelbench", "kernelbot"};

constexpr std::size_t kDimensions = 3;  ///< dimensions of a problem in kernel_launcher

/// kernel_launcher makes the file name from the key and keeps only letters, digits and "_-.".
std::string key_of(const KernelFacts& facts) {
  if (const CustomProblem* own = facts.problem.custom()) {
    std::string key = facts.kernel;
    if (own->dtype) key += fmt::format("-{}", name(*own->dtype));
    for (std::size_t i = kDimensions; i < own->sizes.size(); ++i) {
      const NamedSize& size = own->sizes[i];
      if (std::ranges::count(facts.runtime_sizes, size.name) == 0)
        key += fmt::format("-{}{}", size.name, size.value);
    }
    return key;
  }
  const Attention& p = facts.problem.as_attention();
  const std::int64_t group = p.heads / p.kv_heads;
  const std::string layout = p.layouts.plain() ? "" : "-" + slug(p.layouts);
  const std::string out = is_fp8(p) ? fmt::format("-{}", name(out_dtype(p))) : "";
  const std::string of_v = p.value_dim ? fmt::format("-v{}", *p.value_dim) : "";
  return fmt::format("{}-d{}{}-{}{}{}{}{}{}{}{}", facts.kernel, p.head_dim, of_v, name(p.dtype),
                     out, is_fused(p) ? fmt::format("-{}", name(p.quant)) : "",
                     p.mask == Mask::kNone ? "" : "-" + slug(p.mask),
                     group == 1 ? "" : fmt::format("-g{}", group), p.lse ? "-lse" : "",
                     score_slug(p), layout);
}

/// Returns the first sizes of a custom operation; the key has the other sizes.
Json problem_size(const Problem& problem) {
  if (const Attention* p = problem.attention()) return {p->seq_q, p->seq_kv, p->batch * p->heads};
  Json sizes = Json::array();
  const std::vector<NamedSize> all = named_sizes(problem);
  for (std::size_t i = 0; i < std::min(kDimensions, all.size()); ++i) sizes.push_back(all[i].value);
  return sizes;
}

std::string launcher_header(const std::string& key, const Json& config) {
  Json names = Json::array();
  for (const auto& item : config.items()) names.push_back(item.key());
  return dump({{"version", "1.0"},
               {"key", key},
               {"objective", "time"},
               {"tunable_parameters", std::move(names)}}) +
         "\n";
}

std::string launcher_line(const KernelFacts& facts, const Json& config) {
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

std::span<const ExportFormat> export_formats() { return kFormats; }

Result<const ExportFormat*> find_format(std::string_view name) {
  std::vector<std::string> known;
  for (const ExportFormat& format : kFormats) {
    if (format.name == name) return &format;
    known.emplace_back(format.name);
  }
  if (std::ranges::count(kPythonFormats, name) > 0)
    return usage_error(
        fmt::format("--to {0}: Python writes it: python -m fatune export RUN --to {0}", name));
  const auto nearest = nearest_name(name, known);
  return usage_error("--to: '" + std::string(name) + "' is not one of " + join(known, ", ") +
                     (nearest ? "; did you mean " + *nearest + "?" : ""));
}

Status make_target(std::span<const ExportFormat* const> formats,
                   const std::filesystem::path& target) {
  const std::string extension = target.extension().string();
  for (const ExportFormat& format : kFormats) {
    if (extension.empty() || format.extension != extension) continue;
    if (formats.size() == 1 && formats.front() == &format)
      return target.has_parent_path() ? make_directories(target.parent_path()) : Status();
    return usage_error(fmt::format(
        "--out {}: names a file, which --to {} alone writes; name a folder, or say --to {}",
        target.string(), format.name, format.name));
  }
  std::error_code ignored;
  if (formats.size() == 1 && !formats.front()->extension.empty() && !extension.empty() &&
      !std::filesystem::is_directory(target, ignored)) {
    return usage_error(fmt::format("--out {}: --to {} writes a file that ends in {}, or a folder",
                                   target.string(), formats.front()->name,
                                   formats.front()->extension));
  }
  return make_directories(target);
}

Result<Files> write_kernel_launcher(std::span<const ExportedKernel> kernels,
                                    const std::filesystem::path& folder) {
  std::map<std::string, std::string> texts;  // file contents by key
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
    if (text.empty()) text = launcher_header(key, config);
    text += launcher_line(facts, config);
  }
  if (texts.empty()) {
    return usage_error(
        "--to kernel-launcher: no kernel was measured, so there is nothing to write");
  }
  std::vector<std::filesystem::path> files;
  for (const auto& [key, text] : texts) {
    files.push_back(folder / (file_name(key) + ".wisdom"));
    FATUNE_TRY_STATUS(write_below(folder, files.back().filename(), text));
  }
  return files;
}

}  // namespace fatune
