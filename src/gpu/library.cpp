// library.cpp - opens shared libraries by name or path; lists the folders that may hold CUDA.
#include "gpu/library.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>
#include <system_error>

#include <dlfcn.h>

#include "core/text.hpp"

namespace fatune::gpu {
namespace {

namespace fs = std::filesystem;

void add_folder(std::vector<fs::path>& folders, const fs::path& folder) {
  std::error_code ignored;
  if (folder.empty() || !fs::is_directory(folder, ignored)) return;
  if (std::find(folders.begin(), folders.end(), folder) == folders.end()) folders.push_back(folder);
}

/// Numbers of "cuda-12.9", so that 12.10 comes after 12.9.
std::pair<std::int64_t, std::int64_t> toolkit_version(const fs::path& folder) {
  const std::string file = folder.filename().string();
  const auto parts = split(file.substr(std::min(file.find('-'), file.size() - 1) + 1), '.');
  const auto number = [&](std::size_t i) {
    return i < parts.size() ? parse_integer(parts[i]).value_or(0) : 0;
  };
  return {number(0), number(1)};
}

/// /usr/local/cuda first, as it is the one the system chose, then /usr/local/cuda-*, newest first.
void add_system_toolkits(std::vector<fs::path>& roots) {
  add_folder(roots, "/usr/local/cuda");
  std::vector<fs::path> versioned;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/usr/local", error)) {
    if (entry.path().filename().string().starts_with("cuda-")) versioned.push_back(entry.path());
  }
  std::sort(versioned.begin(), versioned.end(), [](const fs::path& a, const fs::path& b) {
    return toolkit_version(a) > toolkit_version(b);
  });
  for (const auto& folder : versioned) add_folder(roots, folder);
  add_folder(roots, "/opt/cuda");
}

/// A folder named by the user or the project: a toolkit, a site-packages folder, or a `.deps`
/// folder.
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
      "python3 -c 'import site; "
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
  for (const auto& place : tried) {
    text += "  " + place.path + ": " + (place.problem.empty() ? "opened" : place.problem) + "\n";
  }
  if (!text.empty()) text.pop_back();
  return text;
}

Result<Library> Library::open(const std::vector<std::string>& names,
                              std::vector<TriedPlace>* tried) {
  std::vector<TriedPlace> places;
  Library library;
  for (const auto& name : names) {
    library.handle_ = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    const char* problem = library.handle_ == nullptr ? dlerror() : nullptr;
    places.push_back({name, problem == nullptr ? "" : problem});
    if (library.handle_ != nullptr) {
      library.path_ = name;
      break;
    }
  }
  if (tried != nullptr) tried->insert(tried->end(), places.begin(), places.end());
  if (library.handle_ == nullptr) {
    return environment_error("no library could be opened; tried:\n" + describe(places));
  }
  return library;
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
