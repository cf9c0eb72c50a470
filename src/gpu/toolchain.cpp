// toolchain.cpp - folders that may hold CUDA to the files a compilation needs.
#include "gpu/toolchain.hpp"

#include <algorithm>
#include <optional>
#include <system_error>
#include <utility>

#include "core/file.hpp"
#include "core/hash.hpp"
#include "core/text.hpp"

namespace fatune {
namespace {

namespace fs = std::filesystem;

constexpr const char* kIncludeFolders[] = {"include", "targets/x86_64-linux/include",
                                           "targets/sbsa-linux/include"};
/// Each header that kernels with toolkit headers start from.
constexpr const char* kHeaders[] = {"cuda_fp16.h", "mma.h", "crt/mma.h"};
/// Their contents decide machine code; the ones above mostly include these.
constexpr const char* kIdentityHeaders[] = {"cuda_fp16.h",   "cuda_fp16.hpp", "cuda_bf16.h",
                                            "cuda_bf16.hpp", "cuda_fp8.h",    "cuda_fp8.hpp",
                                            "mma.h",         "crt/mma.h",     "crt/mma.hpp"};

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

/// The numbers after "libnvrtc.so": {13, 0, 88}; no value for another file.
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
  if (std::find(list.begin(), list.end(), path) == list.end()) list.push_back(path);
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

/// The first include folder of the roots that has the header.
fs::path folder_with(const std::vector<fs::path>& roots, const char* header) {
  for (const auto& root : roots) {
    for (const char* folder : kIncludeFolders) {
      if (is_there(root / folder / header)) return root / folder;
    }
  }
  return {};
}

/// Collects include folders; what is missing stays listed.
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
  // Headers of the C++ library for CUDA moved into a folder of their own with CUDA 13.
  for (const char* header : {"cccl/cuda/std/cstdint", "cuda/std/cstdint"}) {
    const fs::path folder = folder_with(roots, header);
    if (folder.empty()) continue;
    add(folders, std::string_view(header).starts_with("cccl") ? folder / "cccl" : folder);
    break;
  }
  return missing;
}

/// The folder above lib, lib64 or targets/.../lib; empty for a bare name.
fs::path root_of_library(const fs::path& library) {
  if (!library.has_parent_path()) return {};
  fs::path folder = library.parent_path().parent_path();
  if (folder.parent_path().filename() == "targets") folder = folder.parent_path().parent_path();
  return folder;
}

/// Headers of the same toolkit as the library come first, so that versions match if they can.
std::vector<fs::path> with_root_of_library(const fs::path& library,
                                           const std::vector<fs::path>& roots) {
  std::vector<fs::path> ordered;
  if (const fs::path own = root_of_library(library); !own.empty()) ordered.push_back(own);
  for (const auto& root : roots) add(ordered, root);
  return ordered;
}

std::vector<fs::path> explicit_nvrtc(const fs::path& given) {
  std::error_code ignored;
  if (!fs::is_directory(given, ignored)) return {given};
  std::vector<fs::path> found;
  const auto files = nvrtc_files(given);
  if (!files.empty()) add(found, files.front());
  add_nvrtc_of_root(found, given);
  for (const auto& root : gpu::wheel_roots(given)) add_nvrtc_of_root(found, root);
  if (found.empty()) found.push_back(given / "libnvrtc.so");  // its absence is the message
  return found;
}

}  // namespace

std::vector<fs::path> nvrtc_files(const fs::path& folder) {
  std::vector<std::pair<std::vector<std::int64_t>, fs::path>> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (auto version = version_of(entry.path())) found.emplace_back(*version, entry.path());
  }
  std::sort(found.begin(), found.end(), std::greater<>());
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
  roots = with_root_of_library(toolchain.nvrtc.front(), roots);
  add(roots, "/usr");  // distributions' packages
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

std::string headers_identity(const Toolchain& toolchain) {
  Hasher hasher;
  for (const char* header : kIdentityHeaders) {
    for (const auto& folder : toolchain.include_folders) {
      if (!is_there(folder / header)) continue;
      const auto text = read_file(folder / header);
      hasher.add(header).add(text ? *text : "");
      break;
    }
  }
  return hasher.hex();
}

}  // namespace fatune
