// source.cpp - embedded files and folders to one list of kernels.
#include "model/kernel/source.hpp"

#include <algorithm>
#include <map>

#include "core/embedded.hpp"

namespace fatune {
namespace {

/// The folder's files, and the shared headers that it has not.
Result<SourceTree> tree_with_shared_headers(const std::filesystem::path& folder) {
  FATUNE_TRY(SourceTree tree, load_source_tree(folder));
  for (SourceFile& shared : embedded_source_tree()) {
    const bool header = shared.path.starts_with("common/");
    const bool present = std::any_of(
        tree.begin(), tree.end(), [&](const SourceFile& file) { return file.path == shared.path; });
    if (header && !present) tree.push_back(std::move(shared));
  }
  std::sort(tree.begin(), tree.end(),
            [](const SourceFile& a, const SourceFile& b) { return a.path < b.path; });
  return tree;
}

}  // namespace

SourceTree embedded_source_tree() {
  SourceTree tree;
  for (const EmbeddedFile& file : embedded_kernel_files()) {
    tree.push_back({std::string(file.path), std::string(file.text)});
  }
  return tree;
}

Result<std::vector<KernelRef>> embedded_kernels() { return load_kernels(embedded_source_tree()); }

Result<std::vector<KernelRef>> available_kernels(
    const std::vector<std::filesystem::path>& folders) {
  FATUNE_TRY(const std::vector<KernelRef> embedded, embedded_kernels());
  std::map<std::string, KernelRef> by_name;
  for (const KernelRef& kernel : embedded) by_name[kernel->manifest.name] = kernel;
  for (const auto& folder : folders) {
    FATUNE_TRY(const SourceTree tree, tree_with_shared_headers(folder));
    auto kernels = load_kernels(tree);
    if (!kernels) return with_context(std::move(kernels).error(), "reading " + folder.string());
    for (const KernelRef& kernel : *kernels) by_name[kernel->manifest.name] = kernel;
  }
  std::vector<KernelRef> all;
  for (auto& [name, kernel] : by_name) all.push_back(std::move(kernel));
  return all;
}

}  // namespace fatune
