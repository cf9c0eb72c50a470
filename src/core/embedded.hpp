// embedded.hpp - the data files inside the binary: kernels, configs, recorded journals, scripts.
#pragma once

#include <span>
#include <string_view>

namespace fatune {

/// One file as it was when the program was built; the views live as long as the program.
struct EmbeddedFile {
  std::string_view path;    ///< relative to the folder embedded, with '/': "flash/fa_mma.cu"
  std::string_view text;    ///< every byte of the file, also when it is not text
  std::string_view sha256;  ///< of `text`, 64 lower-case hex digits
};

/// kernels/**: templates, shared headers and manifests, ordered by path.
std::span<const EmbeddedFile> embedded_kernel_files();

/// configs/problems/*.json, the suites that ship with the program, ordered by path.
std::span<const EmbeddedFile> embedded_config_files();

/// configs/external/*.json, descriptions of programs to measure beside our own, ordered by path.
std::span<const EmbeddedFile> embedded_external_files();

/// The scripts that helper processes run, src/worker/baselines/*.py.
std::span<const EmbeddedFile> embedded_helper_files();

/// The parts of files that export writes, src/out/export/*.py.
std::span<const EmbeddedFile> embedded_export_files();

/// configs/recorded/*.jsonl.gz, journals that stand in for a GPU, ordered by path.
std::span<const EmbeddedFile> embedded_recorded_files();

/// configs/known/*.json, configs that were best where they were measured, ordered by path.
std::span<const EmbeddedFile> embedded_known_files();

/// What the HTML report is made of: src/out/page/html/* and third_party/d3/*, named from the
/// project's root.
std::span<const EmbeddedFile> embedded_page_files();

}  // namespace fatune
