// write_files.cpp - the formats that are one or two files a kernel.
#include <string>

#include <nlohmann/json.hpp>

#include "core/fields.hpp"
#include "core/file.hpp"
#include "out/export/formats.hpp"

namespace fatune {
namespace {

using Files = std::vector<std::filesystem::path>;

Status write(const std::filesystem::path& file, std::string_view content, Files& written) {
  FATUNE_TRY_STATUS(replace_file(file, content));
  written.push_back(file);
  return {};
}

/// A config file with the marks that its readers must not miss.
Json config_json(const KernelFacts& facts) {
  Json json = {{"kernel", facts.kernel}};
  const Json whole = to_json(facts);
  for (const char* field : {"config", "problem", "verified", "recorded", "measured", "command"})
    json[field] = whole.at(field);
  return json;
}

}  // namespace

Result<Files> write_cubin(std::span<const ExportedKernel> kernels,
                          const std::filesystem::path& folder) {
  Files files;
  for (const ExportedKernel& kernel : kernels) {
    FATUNE_TRY_STATUS(write(folder / kernel.facts.cubin.file, kernel.cubin, files));
    FATUNE_TRY_STATUS(
        write(folder / (kernel.name + ".json"), dump_pretty(to_json(kernel.facts)), files));
  }
  return files;
}

Result<Files> write_source(std::span<const ExportedKernel> kernels,
                           const std::filesystem::path& folder) {
  Files files;
  for (const ExportedKernel& kernel : kernels)
    FATUNE_TRY_STATUS(write(folder / (kernel.name + ".cu"), kernel.source, files));
  return files;
}

Result<Files> write_header(std::span<const ExportedKernel> kernels,
                           const std::filesystem::path& folder) {
  Files files;
  for (const ExportedKernel& kernel : kernels)
    FATUNE_TRY_STATUS(write(folder / (kernel.name + ".h"), c_header(kernel), files));
  return files;
}

Result<Files> write_config(std::span<const ExportedKernel> kernels,
                           const std::filesystem::path& folder) {
  Files files;
  for (const ExportedKernel& kernel : kernels) {
    FATUNE_TRY_STATUS(write(folder / (kernel.name + ".config.json"),
                            dump_pretty(config_json(kernel.facts)), files));
  }
  return files;
}

}  // namespace fatune
