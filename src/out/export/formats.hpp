// formats.hpp - what `fatune export --to` can write: one table of names and writers.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "out/export/exported_kernel.hpp"

namespace fatune {

/// Writes the kernels into the folder, which exists, or into the one file that the format's
/// extension says `target` to be. Returns the files written.
using ExportWriter = Result<std::vector<std::filesystem::path>> (*)(
    std::span<const ExportedKernel> kernels, const std::filesystem::path& target);

struct ExportFormat {
  std::string_view name;     ///< as in --to
  std::string_view summary;  ///< for --help
  ExportWriter write;
  std::string_view extension = "";  ///< ".py": a target that ends so is a file; empty: a folder
};
std::span<const ExportFormat> export_formats();
/// A usage error that names the formats there are.
Result<const ExportFormat*> find_format(std::string_view name);
/// Makes the folder that the formats write into: the target, or the one that is to hold it when it
/// is a file. A usage error when the target is a file and they are more or other than its format.
Status make_target(std::span<const ExportFormat* const> formats,
                   const std::filesystem::path& target);

}  // namespace fatune
