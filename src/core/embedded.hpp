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

/// Files of one kind, ordered by path.
using EmbeddedFiles = std::span<const EmbeddedFile>;
EmbeddedFiles embedded_kernel_files();  ///< kernels/**: templates, shared headers, manifests
EmbeddedFiles embedded_config_files();  ///< configs/problems/*.json: suites
EmbeddedFiles embedded_helper_files();  ///< src/worker/baselines/*.py: scripts of child processes
EmbeddedFiles embedded_export_files();  ///< src/out/export/*.py: parts of files that export writes
EmbeddedFiles embedded_recorded_files();  ///< configs/recorded/*.jsonl.gz: they stand in for a GPU
EmbeddedFiles embedded_known_files();     ///< configs/known/*.json: best where they were measured
/// What the HTML report is made of: src/out/page/html/* and third_party/d3/*, named from the
/// project's root.
EmbeddedFiles embedded_page_files();

}  // namespace fatune
