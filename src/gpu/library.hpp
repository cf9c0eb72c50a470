// library.hpp: Opens shared libraries at run time and finds NVRTC and the toolkit's headers.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/result.hpp"

namespace fatune::gpu {

/// Library folders of a toolkit.
inline constexpr const char* kLibraryFolders[] = {"lib64", "lib", "targets/x86_64-linux/lib",
                                                  "targets/sbsa-linux/lib"};

/// Search paths besides the loader's; cli/options fills them from flags and environment.
struct SearchPaths {
  std::filesystem::path nvrtc;  ///< --nvrtc: a file or folder; empty: search
  /// Folders with lib or lib64 and include, in order.
  std::vector<std::filesystem::path> cuda_roots;
};
/// Returns the given CUDA_HOME or CUDA_PATH, `extra` and /usr/local/cuda*, newest first. `extra`
/// has toolkits, site-packages folders or a `.deps` folder. Wheels of python3 are left out, because
/// asking python3 is slow; they are tried when all these folders fail.
SearchPaths default_search_paths(const std::string& cuda_home,
                                 const std::vector<std::filesystem::path>& extra);
/// Returns the folders of CUDA wheels in site-packages: nvidia/cu13, nvidia/cuda_nvrtc.
std::vector<std::filesystem::path> wheel_roots(const std::filesystem::path& site_packages);
/// Returns the site-packages folders of the python3 on PATH; none without python3.
std::vector<std::filesystem::path> python_site_packages();

struct TriedPlace {
  std::string path;
  std::string problem;  ///< the loader's message; empty on success
};
/// Returns an indented line per place, for error messages and `doctor`.
std::string describe(const std::vector<TriedPlace>& tried);

/// An open library, which is never closed, because CUDA libraries do not survive dlclose().
class Library {
 public:
  /// Tries the names in order; the error lists every place tried.
  static Result<Library> open(const std::vector<std::string>& names,
                              std::vector<TriedPlace>* tried = nullptr);
  void* symbol(const char* name) const;  ///< nullptr when missing
  /// Returns the symbol as a function pointer; null if it is missing.
  template <typename Function>
  Function function(const char* name) const {
    return reinterpret_cast<Function>(symbol(name));
  }
  const std::string& path() const { return path_; }

 private:
  void* handle_ = nullptr;
  std::string path_;
};

/// Returns the file of a loaded library's function; empty if the loader does not know it.
std::string file_of(const void* function);

/// Fills a table of functions from a library and records missing symbols.
class SymbolLoader {
 public:
  explicit SymbolLoader(const Library& library) : library_(library) {}
  template <typename Function>
  void load(Function& function, const char* name) {
    function = library_.function<Function>(name);
    if (function == nullptr) missing_ += std::string(missing_.empty() ? "" : ", ") + name;
  }
  const std::string& missing() const { return missing_; }  ///< "a, b"; empty if none

 private:
  const Library& library_;
  std::string missing_;
};

}  // namespace fatune::gpu

namespace fatune {

struct Toolchain {
  /// Files, or names for the loader, that a compile worker tries in order.
  std::vector<std::filesystem::path> nvrtc;
  /// Folders for kernels that include cuda_fp16.h or mma.h; empty if headers_problem is set.
  std::vector<std::filesystem::path> include_folders;
  std::string headers_problem;
};

/// Lists candidates for NVRTC without opening any: --nvrtc alone if given, else the roots and the
/// loader's path. If no root has NVRTC, the wheels of the python3 on PATH are added.
Toolchain find_toolchain(const gpu::SearchPaths& search);

/// Returns the libnvrtc.so files of a folder, newest version first.
std::vector<std::filesystem::path> nvrtc_files(const std::filesystem::path& folder);
/// Returns the builtins library beside an NVRTC file; empty if there is none.
std::filesystem::path builtins_beside(const std::filesystem::path& nvrtc);
/// Returns the SHA-256 of the named toolkit headers and of all headers they include, regardless of
/// #if. Missing headers are skipped.
std::string headers_identity(const Toolchain& toolchain, const std::vector<std::string>& names);

}  // namespace fatune
