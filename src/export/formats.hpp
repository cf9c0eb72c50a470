// formats.hpp - what `fatune export --to` can write: one table of names and writers.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "export/exported_kernel.hpp"

namespace fatune {

/// Writes the kernels into the folder, which exists. Returns the files written.
using ExportWriter = Result<std::vector<std::filesystem::path>> (*)(
    std::span<const ExportedKernel> kernels, const std::filesystem::path& folder);

struct ExportFormat {
  std::string_view name;     ///< as in --to
  std::string_view summary;  ///< for --help
  ExportWriter write;
};
std::span<const ExportFormat> export_formats();
/// A usage error that names the formats there are.
Result<const ExportFormat*> find_format(std::string_view name);

}  // namespace fatune
