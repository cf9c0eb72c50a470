// kernel.hpp: Defines a kernel: a manifest with its template and headers, and lists all kernels.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "model/kernel/manifest.hpp"

namespace fatune {

struct SourceFile {
  std::string path;  ///< as in #include: "common/prelude.cuh"
  std::string text;
};

/// Author of the text. A stranger's submission has limited compile resources, and its machine code
/// must not keep state between launches.
enum class Author { kTrusted, kStranger };

struct Kernel {
  Manifest manifest;
  SourceFile source;
  /// Project headers that the template includes, directly or not, sorted by path.
  std::vector<SourceFile> headers;
  std::string text_hash;  ///< over source, headers, used terms, arguments by value, constants
  Author author = Author::kTrusted;
};
using KernelRef = std::shared_ptr<const Kernel>;

/// Tells whether the text contains the name as a whole word.
bool mentions(std::string_view text, std::string_view name);
/// Tells whether the template or one of its headers contains the name.
bool mentions(const Kernel& kernel, std::string_view name);

/// All files of a kernel tree by relative path, embedded in the program or read from a folder.
using SourceTree = std::vector<SourceFile>;
Result<SourceTree> load_source_tree(const std::filesystem::path& folder);
/// Loads every manifest of the tree, sorted by name; a missing source or include is an error that
/// names the file.
Result<std::vector<KernelRef>> load_kernels(const SourceTree& tree,
                                            const std::filesystem::path& folder = {});

/// Returns the kernel files embedded in the program.
SourceTree embedded_source_tree();
/// Returns one embedded file: "common/checks.cu".
Result<SourceFile> embedded_source(std::string_view path);
Result<std::vector<KernelRef>> embedded_kernels();

/// Loads the embedded kernels and the folders' kernels, sorted by name. A kernel replaces an
/// earlier folder's kernel of its name. A folder without a header of `common/` uses the embedded
/// header.
Result<std::vector<KernelRef>> available_kernels(const std::vector<std::filesystem::path>& folders);

}  // namespace fatune
