// formats.cpp - the table of export formats, and the search in it.
#include "out/export/formats.hpp"

#include <fmt/format.h>

#include "core/file.hpp"
#include "core/text.hpp"

namespace fatune {
namespace {

constexpr ExportFormat kFormats[] = {
    {"cubin", "machine code, and launch facts (fatune.launch/1) beside it", write_cubin},
    {"source", "one self-contained .cu", write_source},
    {"header", "one C99 header with the machine code and its launch", write_header},
    {"json", "the config alone, as --config takes it", write_config},
    {"wisdom", "a folder of kernels that libfatune_rt opens; one that is there grows",
     write_wisdom},
    {"kernel-launcher", "configs and times as wisdom files of kernel_launcher",
     write_kernel_launcher},
    {"torch", "one Python file: a function for PyTorch, sdpa.py unless --out names it", write_torch,
     ".py"},
};

}  // namespace

std::span<const ExportFormat> export_formats() { return kFormats; }

Result<const ExportFormat*> find_format(std::string_view name) {
  std::vector<std::string> known;
  for (const ExportFormat& format : kFormats) {
    if (format.name == name) return &format;
    known.emplace_back(format.name);
  }
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
  return make_directories(target);
}

}  // namespace fatune
