// library.cpp: Opens shared libraries and searches folders for NVRTC and CUDA headers.
#include "gpu/library.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include <dlfcn.h>
#include <fmt/format.h>

#include "core/file.hpp"
#include "core/hash.hpp"
#include "core/text.hpp"
#include "model/kernel/includes.hpp"

namespace fs = std::filesystem;

namespace fatune::gpu {
namespace {

void add_folder(std::vector<fs::path>& folders, const fs::path& folder) {
  std::error_code ignored;
  if (folder.empty() || !fs::is_directory(folder, ignored)) return;
  if (std::ranges::find(folders, folder) == folders.end()) folders.push_back(folder);
}

/// Returns the numbers of "cuda-12.9", so that 12.10 sorts after 12.9.
std::pair<std::int64_t, std::int64_t> toolkit_version(const fs::path& folder) {
  const std::string file = folder.filename().string();
  const auto parts = split(file.substr(std::min(file.find('-'), file.size() - 1) + 1), '.');
  const auto number = [&](std::size_t i) {
    return i < parts.size() ? parse_integer(parts[i]).value_or(0) : 0;
  };
  return {number(0), number(1)};
}

/// Adds /usr/local/cuda, the system's choice, and then /usr/local/cuda-*, newest first.
void add_system_toolkits(std::vector<fs::path>& roots) {
  add_folder(roots, "/usr/local/cuda");
  std::vector<fs::path> versioned;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/usr/local", error)) {
    if (entry.path().filename().string().starts_with("cuda-")) versioned.push_back(entry.path());
  }
  std::ranges::sort(versioned, std::greater<>(), toolkit_version);
  for (const auto& folder : versioned) add_folder(roots, folder);
  add_folder(roots, "/opt/cuda");
}

/// Adds a toolkit, a site-packages folder, or a `.deps` folder of the project.
void add_any(std::vector<fs::path>& roots, const fs::path& folder) {
  for (const auto& place : {folder / "cuda", folder}) {
    for (const auto& root : wheel_roots(place)) add_folder(roots, root);
  }
  std::error_code ignored;
  if (fs::is_directory(folder / "include", ignored)) add_folder(roots, folder);
}

}  // namespace

std::vector<fs::path> wheel_roots(const fs::path& site_packages) {
  std::vector<fs::path> roots;
  for (const char* wheel : {"cu13", "cuda_nvrtc", "cuda_runtime", "cuda_nvcc", "cuda_cccl"}) {
    add_folder(roots, site_packages / "nvidia" / wheel);
  }
  return roots;
}

std::vector<fs::path> python_site_packages() {
  constexpr const char* kCommand =
      "python3 -I -c 'import site; "
      "print(\"\\n\".join(site.getsitepackages() + [site.getusersitepackages()]))' 2>/dev/null";
  std::vector<fs::path> folders;
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(kCommand, "re"), pclose);
  if (!pipe) return folders;
  std::string output;
  std::array<char, 512> part{};
  while (const std::size_t size = std::fread(part.data(), 1, part.size(), pipe.get())) {
    output.append(part.data(), size);
  }
  for (const auto& line : split(output, '\n')) add_folder(folders, std::string(trim(line)));
  return folders;
}

SearchPaths default_search_paths(const std::string& cuda_home, const std::vector<fs::path>& extra) {
  SearchPaths search;
  add_folder(search.cuda_roots, cuda_home);
  for (const auto& folder : extra) add_any(search.cuda_roots, folder);
  add_system_toolkits(search.cuda_roots);
  return search;
}

std::string describe(const std::vector<TriedPlace>& tried) {
  std::string text;
  for (const auto& [path, problem] : tried) {
    text += fmt::format("{}  {}: {}", text.empty() ? "" : "\n", path,
                        problem.empty() ? "opened" : problem);
  }
  return text;
}

Result<Library> Library::open(const std::vector<std::string>& names,
                              std::vector<TriedPlace>* tried) {
  std::vector<TriedPlace> places;
  Library library;
  for (const auto& name : names) {
    library.handle_ = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    library.path_ = name;
    const char* problem = library.handle_ == nullptr ? dlerror() : nullptr;
    places.push_back({name, problem == nullptr ? "" : problem});
    if (library.handle_ != nullptr) break;
  }
  if (tried != nullptr) tried->insert(tried->end(), places.begin(), places.end());
  if (library.handle_ != nullptr) return library;
  return environment_error("no library could be opened; tried:\n" + describe(places));
}

std::string file_of(const void* function) {
  Dl_info info{};
  const bool known = dladdr(function, &info) != 0 && info.dli_fname != nullptr;
  return known ? info.dli_fname : "";
}

void* Library::symbol(const char* name) const {
  return handle_ == nullptr ? nullptr : dlsym(handle_, name);
}

}  // namespace fatune::gpu

namespace fatune {
namespace {

constexpr const char* kIncludeFolders[] = {"include", "targets/x86_64-linux/include",
                                           "targets/sbsa-linux/include"};
/// Headers from which kernels include the toolkit's other headers.
constexpr const char* kHeaders[] = {"cuda_fp16.h", "mma.h", "crt/mma.h"};
bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

/// Returns the numbers after "libnvrtc.so", {13, 0, 88}; empty for another file.
std::optional<std::vector<std::int64_t>> version_of(const fs::path& file) {
  constexpr std::string_view kName = "libnvrtc.so";
  const std::string name = file.filename().string();
  if (!name.starts_with(kName)) return std::nullopt;
  std::vector<std::int64_t> numbers;
  if (name.size() == kName.size()) return numbers;
  if (name[kName.size()] != '.') return std::nullopt;
  for (const auto& part : split(name.substr(kName.size() + 1), '.')) {
    const auto number = parse_integer(part);
    if (!number) return std::nullopt;
    numbers.push_back(*number);
  }
  return numbers;
}

void add(std::vector<fs::path>& list, const fs::path& path) {
  if (std::ranges::find(list, path) == list.end()) list.push_back(path);
}

void add_nvrtc_of_root(std::vector<fs::path>& list, const fs::path& root) {
  for (const char* folder : gpu::kLibraryFolders) {
    const auto files = nvrtc_files(root / folder);
    if (!files.empty()) add(list, files.front());
  }
}

std::vector<fs::path> roots_of_python() {
  std::vector<fs::path> roots;
  for (const auto& folder : gpu::python_site_packages()) {
    for (const auto& root : gpu::wheel_roots(folder)) add(roots, root);
  }
  return roots;
}

/// Returns the first include folder of the roots that has the header.
fs::path folder_with(const std::vector<fs::path>& roots, const char* header) {
  for (const auto& root : roots) {
    for (const char* folder : kIncludeFolders) {
      if (is_there(root / folder / header)) return root / folder;
    }
  }
  return {};
}

/// Adds include folders and returns the headers that no root has.
std::vector<std::string> find_headers(const std::vector<fs::path>& roots,
                                      std::vector<fs::path>& folders) {
  std::vector<std::string> missing;
  for (const char* header : kHeaders) {
    const fs::path folder = folder_with(roots, header);
    if (folder.empty()) {
      missing.emplace_back(header);
    } else {
      add(folders, folder);
    }
  }
  // CUDA 13 moved the headers of its C++ library to a folder of their own.
  for (const char* header : {"cccl/cuda/std/cstdint", "cuda/std/cstdint"}) {
    const fs::path folder = folder_with(roots, header);
    if (folder.empty()) continue;
    add(folders, std::string_view(header).starts_with("cccl") ? folder / "cccl" : folder);
    break;
  }
  return missing;
}

/// Returns the folder above lib, lib64 or targets/.../lib; empty for a bare name.
fs::path root_of_library(const fs::path& library) {
  if (!library.has_parent_path()) return {};
  fs::path folder = library.parent_path().parent_path();
  if (folder.parent_path().filename() == "targets") folder = folder.parent_path().parent_path();
  return folder;
}

std::vector<fs::path> explicit_nvrtc(const fs::path& given) {
  std::error_code ignored;
  if (!fs::is_directory(given, ignored)) return {given};
  std::vector<fs::path> found;
  const auto files = nvrtc_files(given);
  if (!files.empty()) add(found, files.front());
  add_nvrtc_of_root(found, given);
  for (const auto& root : gpu::wheel_roots(given)) add_nvrtc_of_root(found, root);
  if (found.empty()) found.push_back(given / "libnvrtc.so");  // the error will name this file
  return found;
}

}  // namespace

std::vector<fs::path> nvrtc_files(const fs::path& folder) {
  std::vector<std::pair<std::vector<std::int64_t>, fs::path>> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (auto version = version_of(entry.path())) found.emplace_back(*version, entry.path());
  }
  std::ranges::sort(found, std::greater<>());
  std::vector<fs::path> files;
  for (auto& [version, file] : found) files.push_back(std::move(file));
  return files;
}

fs::path builtins_beside(const fs::path& nvrtc) {
  std::error_code error;
  fs::path best;
  for (const auto& entry : fs::directory_iterator(nvrtc.parent_path(), error)) {
    if (entry.path().filename().string().starts_with("libnvrtc-builtins.so")) {
      best = std::max(best, entry.path());
    }
  }
  return best;
}

Toolchain find_toolchain(const gpu::SearchPaths& search) {
  Toolchain toolchain;
  std::vector<fs::path> roots = search.cuda_roots;
  bool asked_python = false;
  const auto ask_python = [&] {
    if (std::exchange(asked_python, true)) return std::vector<fs::path>();
    return roots_of_python();
  };
  if (!search.nvrtc.empty()) {
    toolchain.nvrtc = explicit_nvrtc(search.nvrtc);
  } else {
    for (const auto& root : roots) add_nvrtc_of_root(toolchain.nvrtc, root);
    if (toolchain.nvrtc.empty()) {
      for (const auto& root : ask_python()) {
        add(roots, root);
        add_nvrtc_of_root(toolchain.nvrtc, root);
      }
    }
    for (const char* name : {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2"}) {
      toolchain.nvrtc.emplace_back(name);
    }
  }
  // Headers beside the library come first, because their version matches.
  if (const fs::path own = root_of_library(toolchain.nvrtc.front()); !own.empty()) {
    std::erase(roots, own);
    roots.insert(roots.begin(), own);
  }
  add(roots, "/usr");  // for packages of distributions
  auto missing = find_headers(roots, toolchain.include_folders);
  if (!missing.empty()) {
    for (const auto& root : ask_python()) add(roots, root);
    toolchain.include_folders.clear();
    missing = find_headers(roots, toolchain.include_folders);
  }
  if (!missing.empty()) {
    toolchain.include_folders.clear();
    toolchain.headers_problem =
        "the CUDA headers " + join(missing, ", ") +
        " were not found. Set CUDA_HOME to a CUDA toolkit, or install them: pip install "
        "nvidia-cuda-runtime nvidia-cuda-crt nvidia-cuda-cccl";
  }
  return toolchain;
}

std::string headers_identity(const Toolchain& toolchain, const std::vector<std::string>& names) {
  Hasher hasher;
  std::vector<fs::path> waiting;
  std::set<fs::path> seen;
  const auto want = [&](const std::string& name, std::vector<fs::path> folders) {
    folders.insert(folders.end(), toolchain.include_folders.begin(),
                   toolchain.include_folders.end());
    const auto found = std::ranges::find_if(
        folders, [&](const fs::path& folder) { return is_there(folder / name); });
    if (found == folders.end()) return;
    fs::path file = (*found / name).lexically_normal();
    if (seen.insert(file).second) waiting.push_back(std::move(file));
  };
  for (const std::string& name : names) want(name, {});
  for (std::size_t i = 0; i < waiting.size(); ++i) {
    const fs::path file = waiting[i];
    const auto text = read_file(file);
    hasher.add(file.filename().string()).add(text ? *text : "");
    for (const Include& include : includes_of(text ? *text : "")) {
      if (include.name.empty()) continue;
      want(include.name,
           include.quoted ? std::vector{file.parent_path()} : std::vector<fs::path>());
    }
  }
  return hasher.hex();
}

}  // namespace fatune
