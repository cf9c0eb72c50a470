// kernel.hpp - a manifest with its template and all that includes; every kernel at hand.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "model/kernel/manifest.hpp"

namespace fatune {

struct SourceFile {
  std::string path;  ///< as #include writes it: "common/prelude.cuh"
  std::string text;
};

/// Whose text it is. What the compiler may spend on a submission is limited, and its machine code
/// may keep nothing from one launch to the next.
enum class Author { kTrusted, kStranger };

struct Kernel {
  Manifest manifest;
  SourceFile source;
  /// Project headers that the template includes, directly or not, sorted by path.
  std::vector<SourceFile> headers;
  std::string text_hash;  ///< of source and headers, and of the terms that they use
  Author author = Author::kTrusted;
};
using KernelRef = std::shared_ptr<const Kernel>;

/// Whether the text has the name as a whole word.
bool mentions(std::string_view text, std::string_view name);
/// Whether the template or a header of it has.
bool mentions(const Kernel& kernel, std::string_view name);

/// All files of a kernel tree by relative path; embedded in the program or read from a folder.
using SourceTree = std::vector<SourceFile>;
Result<SourceTree> load_source_tree(const std::filesystem::path& folder);
/// Every manifest of the tree, sorted by name; a missing source or include is an error that names
/// the file.
Result<std::vector<KernelRef>> load_kernels(const SourceTree& tree);

/// The kernel files inside the program.
SourceTree embedded_source_tree();
/// One of them: "common/checks.cu".
Result<SourceFile> embedded_source(std::string_view path);
Result<std::vector<KernelRef>> embedded_kernels();

/// The embedded kernels and those of the folders, sorted by name. A kernel of a later folder
/// replaces an earlier one of the same name. Headers of `common/` that a folder lacks are the
/// embedded ones.
Result<std::vector<KernelRef>> available_kernels(const std::vector<std::filesystem::path>& folders);

}  // namespace fatune
