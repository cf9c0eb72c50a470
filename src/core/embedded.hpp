// embedded.hpp: Declares the data files inside the binary: kernels, configs, journals, scripts.
#pragma once

#include <span>
#include <string_view>

namespace fatune {

/// A file as of the build; the views live as long as the program.
struct EmbeddedFile {
  std::string_view path;    ///< relative to the embedded folder, with '/': "flash/fa_mma.cu"
  std::string_view text;    ///< all bytes of the file, which may be binary
  std::string_view sha256;  ///< hash of `text`, 64 lower-case hex digits
};

/// Files of one kind, ordered by path.
using EmbeddedFiles = std::span<const EmbeddedFile>;
EmbeddedFiles embedded_kernel_files();    ///< kernels/**: templates, shared headers, manifests
EmbeddedFiles embedded_config_files();    ///< configs/problems/*.json: suites
EmbeddedFiles embedded_helper_files();    ///< src/worker/baselines/*.py: scripts of child processes
EmbeddedFiles embedded_export_files();    ///< src/export/*.py: parts of exported files
EmbeddedFiles embedded_recorded_files();  ///< journals to replay, from the checkout's root
EmbeddedFiles embedded_known_files();     ///< configs/known/*.json: best configs by GPU
/// Parts of the HTML pages, src/report/page/html/* and third_party/d3/*, by path from the project's
/// root.
EmbeddedFiles embedded_page_files();

}  // namespace fatune
