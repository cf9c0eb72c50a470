// kernel.cpp: Loads kernels from the embedded tree and from the user's folders.
#include "model/kernel/kernel.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <system_error>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/embedded.hpp"
#include "core/file.hpp"
#include "core/hash.hpp"
#include "core/json.hpp"
#include "core/text.hpp"
#include "model/kernel/includes.hpp"
#include "model/kernel/vocabulary.hpp"
#include "model/wisdom/scalar.hpp"

namespace fatune {
namespace {

namespace fs = std::filesystem;

const SourceFile* find_file(const SourceTree& tree, const std::string& path) {
  const auto found = std::ranges::find(tree, path, &SourceFile::path);
  return found == tree.end() ? nullptr : &*found;
}

std::string beside(const std::string& path, const std::string& name) {
  return (fs::path(path).parent_path() / name).lexically_normal().generic_string();
}

/// Toolkit headers must be written <name>, because quotes also search the current folder. Their
/// paths must not leave the toolkit's folders.
Status check_toolkit_header(const Include& include, const std::string& place,
                            const Manifest& manifest) {
  if (!manifest.needs_toolkit_headers) {
    return file_error(
        fmt::format("{} is not in the kernel tree (a header of the CUDA toolkit needs "
                    "\"needs_toolkit_headers\": true in {})",
                    place, manifest.where));
  }
  if (include.quoted) {
    return file_error(
        fmt::format("{} is not in the kernel tree; write a header of the CUDA toolkit as <{}>",
                    place, include.name));
  }
  const fs::path path(include.name);
  if (!path.is_absolute() && std::ranges::find(path, fs::path("..")) == path.end()) return {};
  return file_error(place + " is no header of the CUDA toolkit, but a file beside it");
}

/// Adds the includes of `file`, direct and indirect, to `headers`.
Status collect_headers(const SourceTree& tree, const SourceFile& file, const Manifest& manifest,
                       std::map<std::string, const SourceFile*>& headers) {
  for (const Include& include : includes_of(file.text)) {
    const auto& [line, quoted, name] = include;
    if (name.empty()) {
      return file_error(
          fmt::format("{}:{}: an include is written as #include \"NAME\" or #include <NAME> on a "
                      "line of its own, so that every included file is known",
                      file.path, line));
    }
    if (headers.contains(name)) continue;
    const SourceFile* header = find_file(tree, name);
    // A header of the tree stands for one of the toolkit that NVRTC refuses: <cub/cub.cuh>.
    if (header != nullptr && (quoted || manifest.needs_toolkit_headers)) {
      headers.emplace(name, header);
      FATUNE_TRY_STATUS(collect_headers(tree, *header, manifest, headers));
      continue;
    }
    const std::string sibling = beside(file.path, name);
    if (quoted && find_file(tree, sibling) != nullptr) {
      return file_error(
          fmt::format("{}:{}: #include \"{}\" must be written from the tree's root: \"{}\"",
                      file.path, line, name, sibling));
    }
    const char* marks = quoted ? "\"\"" : "<>";
    const std::string place =
        fmt::format("{}:{}: #include {}{}{}", file.path, line, marks[0], name, marks[1]);
    FATUNE_TRY_STATUS(check_toolkit_header(include, place, manifest));
  }
  return {};
}

/// Adds compiler options, macros, constants and arguments by value to the hash.
void add_passed(const Manifest& manifest, Hasher& hasher) {
  for (const std::string& option : manifest.compiler_options) hasher.add(option);
  if (manifest.own_macros) hasher.add("defines");
  for (const DefineSpec& each : manifest.defines)
    hasher.add(each.name).add(expand_terms(manifest, each.value));
  for (const ConstantSpec& each : manifest.constants) hasher.add(each.symbol).add(each.tensor);
  for (const StageSpec& stage : manifest.stages) {
    for (const std::string& argument : stage.arguments) {
      if (is_scalar(argument)) hasher.add(expand_terms(manifest, argument));
    }
  }
}

std::string hash_texts(const Kernel& kernel) {
  Hasher hasher;
  hasher.add(kernel.source.text);
  for (const SourceFile& header : kernel.headers) hasher.add(header.path).add(header.text);
  for (const Term& term : kernel.manifest.terms) {
    if (mentions(kernel, term.name)) hasher.add(term.name).add(term.expanded);
  }
  add_passed(kernel.manifest, hasher);
  const std::string& declaration = kernel.manifest.operation->text;
  if (!declaration.empty()) hasher.add(declaration);
  return hasher.hex();
}

Result<KernelRef> load_kernel(const SourceTree& tree, const SourceFile& file,
                              std::span<const OperationRef> operations) {
  Kernel kernel;
  FATUNE_TRY(kernel.manifest, parse_manifest(file.text, file.path, operations));
  const std::string path = beside(file.path, kernel.manifest.source);
  const SourceFile* source = find_file(tree, path);
  if (source == nullptr) {
    return file_error(fmt::format("{}: field 'source' is '{}', but there is no file {}", file.path,
                                  kernel.manifest.source, path));
  }
  kernel.source = *source;
  std::map<std::string, const SourceFile*> headers;
  FATUNE_TRY_STATUS(collect_headers(tree, *source, kernel.manifest, headers));
  for (const auto& [name, header] : headers) kernel.headers.push_back(*header);
  kernel.text_hash = hash_texts(kernel);
  return std::make_shared<const Kernel>(std::move(kernel));
}

/// The schema marks a manifest; a JSON file next to a template of its name is also taken for one.
Result<bool> is_manifest(const SourceTree& tree, const SourceFile& file) {
  const fs::path path(file.path);
  if (path.extension() != ".json") return false;
  if (find_file(tree, fs::path(path).replace_extension(".cu").generic_string()) != nullptr) {
    return true;
  }
  FATUNE_TRY(const Json json, parse_json(file.text, file.path));
  if (!json.is_object()) return false;
  const auto schema = json.find("schema");
  return schema != json.end() && schema->is_string() &&
         schema->get_ref<const std::string&>().starts_with("fatune.kernel/");
}

/// Sizes and times of data files are part of the operation's identity: other data has other times.
void set_folder(const fs::path& folder, DeclaredOperation& operation) {
  operation.folder = fs::absolute(folder);
  for (const TensorSpec& tensor : operation.tensors) {
    if (tensor.file.empty()) continue;
    const fs::path file = operation.folder / tensor.file;
    std::error_code missing;
    const auto size = fs::file_size(file, missing);
    const auto written = fs::last_write_time(file, missing).time_since_epoch().count();
    if (!missing) operation.text += fmt::format(" {}: {}, {}", tensor.file, size, written);
  }
}

/// Returns the operations that the tree's references declare; a name declared twice is an error.
/// Data files are found below `folder`, if there is one.
Result<std::vector<OperationRef>> find_operations(const SourceTree& tree, const fs::path& folder) {
  std::vector<OperationRef> operations;
  for (const SourceFile& file : tree) {
    FATUNE_TRY(const bool manifest, is_manifest(tree, file));
    if (!manifest || file.text.find("\"operation\"") == std::string::npos) continue;
    FATUNE_TRY(const Json json, parse_json(file.text, file.path));
    const auto found = json.is_object() ? json.find("operation") : json.end();
    if (found == json.end() || !found->is_object()) continue;
    FATUNE_TRY(DeclaredOperation operation, parse_operation(json, file.path));
    for (const OperationRef& other : operations) {
      if (other->name != operation.name) continue;
      return file_error(fmt::format("{} is '{}', which another manifest declares already",
                                    field_place(operation.where, "name"), operation.name));
    }
    if (!folder.empty()) set_folder((folder / file.path).parent_path(), operation);
    operations.push_back(std::make_shared<const DeclaredOperation>(std::move(operation)));
  }
  return operations;
}

bool belongs_to_tree(const fs::path& path) {
  constexpr std::array kExtensions = {".cu", ".cuh", ".h", ".hpp", ".json"};
  return std::ranges::find(kExtensions, path.extension()) != kExtensions.end();
}

/// Returns the folder's files and the shared headers that the folder lacks.
Result<SourceTree> tree_with_shared_headers(const std::filesystem::path& folder) {
  FATUNE_TRY(SourceTree tree, load_source_tree(folder));
  for (SourceFile& shared : embedded_source_tree()) {
    const bool header = shared.path.starts_with("common/") || shared.path.starts_with("cub/");
    if (header && find_file(tree, shared.path) == nullptr) tree.push_back(std::move(shared));
  }
  std::ranges::sort(tree, {}, &SourceFile::path);
  return tree;
}

}  // namespace

bool mentions(std::string_view text, std::string_view name) {
  for (std::size_t at = text.find(name); at != std::string_view::npos;
       at = text.find(name, at + 1)) {
    const std::size_t end = at + name.size();
    if ((at == 0 || !in_class(text[at - 1], "A-Za-z0-9_")) &&
        (end == text.size() || !in_class(text[end], "A-Za-z0-9_"))) {
      return true;
    }
  }
  return false;
}

bool mentions(const Kernel& kernel, std::string_view name) {
  return mentions(kernel.source.text, name) ||
         std::ranges::any_of(kernel.headers,
                             [&](const SourceFile& header) { return mentions(header.text, name); });
}

Result<SourceTree> load_source_tree(const fs::path& folder) {
  std::error_code failure;
  if (!fs::is_directory(folder, failure)) {
    return file_error(fmt::format("{}: is not a folder with kernels", folder.string()));
  }
  SourceTree tree;
  fs::recursive_directory_iterator entry(folder, failure);
  for (; !failure && entry != fs::recursive_directory_iterator(); entry.increment(failure)) {
    std::error_code unreadable;
    if (!belongs_to_tree(entry->path()) || !entry->is_regular_file(unreadable)) continue;
    FATUNE_TRY(std::string text, read_file(entry->path()));
    if (entry->path().extension() == ".json")
      FATUNE_TRY_STATUS(refuse_repeated_keys(text, entry->path().string()));
    tree.push_back({entry->path().lexically_relative(folder).generic_string(), std::move(text)});
  }
  if (failure) {
    return file_error(fmt::format("{}: cannot be listed: {}", folder.string(), failure.message()));
  }
  std::ranges::sort(tree, {}, &SourceFile::path);
  return tree;
}

Result<std::vector<KernelRef>> load_kernels(const SourceTree& tree, const fs::path& folder) {
  FATUNE_TRY(const std::vector<OperationRef> operations, find_operations(tree, folder));
  std::vector<KernelRef> kernels;
  for (const SourceFile& file : tree) {
    FATUNE_TRY(const bool manifest, is_manifest(tree, file));
    if (!manifest) continue;
    FATUNE_TRY(KernelRef kernel, load_kernel(tree, file, operations));
    for (const KernelRef& other : kernels) {
      if (other->manifest.name != kernel->manifest.name) continue;
      return file_error(fmt::format("{}: field 'name' is '{}', which {} has already", file.path,
                                    kernel->manifest.name, other->manifest.where));
    }
    kernels.push_back(std::move(kernel));
  }
  std::ranges::sort(kernels, {}, [](const KernelRef& each) { return each->manifest.name; });
  return kernels;
}

SourceTree embedded_source_tree() {
  SourceTree tree;
  for (const EmbeddedFile& file : embedded_kernel_files()) {
    tree.push_back({std::string(file.path), std::string(file.text)});
  }
  return tree;
}

Result<SourceFile> embedded_source(std::string_view path) {
  for (const EmbeddedFile& file : embedded_kernel_files()) {
    if (file.path == path) return SourceFile{std::string(file.path), std::string(file.text)};
  }
  return file_error(fmt::format("the program was built without kernels/{}", path));
}

Result<std::vector<KernelRef>> embedded_kernels() { return load_kernels(embedded_source_tree()); }

Result<std::vector<KernelRef>> available_kernels(
    const std::vector<std::filesystem::path>& folders) {
  FATUNE_TRY(const std::vector<KernelRef> embedded, embedded_kernels());
  std::map<std::string, KernelRef> by_name;
  for (const KernelRef& kernel : embedded) by_name[kernel->manifest.name] = kernel;
  for (const auto& folder : folders) {
    FATUNE_TRY(const SourceTree tree, tree_with_shared_headers(folder));
    auto kernels = load_kernels(tree, folder);
    if (!kernels) return with_context(std::move(kernels).error(), "reading " + folder.string());
    for (const KernelRef& kernel : *kernels) by_name[kernel->manifest.name] = kernel;
  }
  std::vector<KernelRef> all;
  for (auto& [name, kernel] : by_name) all.push_back(std::move(kernel));
  return all;
}

}  // namespace fatune
