// library.hpp - opens shared libraries at run time; where NVRTC and the toolkit headers are.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/result.hpp"

namespace fatune::gpu {

/// Where a toolkit keeps its libraries.
inline constexpr const char* kLibraryFolders[] = {"lib64", "lib", "targets/x86_64-linux/lib",
                                                  "targets/sbsa-linux/lib"};

/// Where to look besides the loader's own path; filled by cli/options from flags and environment.
struct SearchPaths {
  std::filesystem::path nvrtc;  ///< --nvrtc: a file or folder; empty: search
  /// Folders with lib or lib64, and include; in order.
  std::vector<std::filesystem::path> cuda_roots;
};
/// The CUDA_HOME or CUDA_PATH value given, `extra` (toolkits, site-packages folders, or a `.deps`
/// folder of the project), and /usr/local/cuda*, newest first. The wheels of the python3 on PATH
/// are no part of it: asking python3 takes a moment, so the search for a compiler does it only when
/// all of these fail.
SearchPaths default_search_paths(const std::string& cuda_home,
                                 const std::vector<std::filesystem::path>& extra);
/// The wheels below a site-packages folder that hold parts of CUDA: nvidia/cu13, nvidia/cuda_nvrtc.
std::vector<std::filesystem::path> wheel_roots(const std::filesystem::path& site_packages);
/// The site-packages folders of the python3 on PATH; none when there is no python3.
std::vector<std::filesystem::path> python_site_packages();

struct TriedPlace {
  std::string path;
  std::string problem;  ///< the loader's message; empty when it opened
};
/// One line per place, indented, for error messages and `doctor`.
std::string describe(const std::vector<TriedPlace>& tried);

/// An open library. Never closed: CUDA libraries do not survive dlclose().
class Library {
 public:
  /// Tries names in order; the error lists every place tried.
  static Result<Library> open(const std::vector<std::string>& names,
                              std::vector<TriedPlace>* tried = nullptr);
  void* symbol(const char* name) const;  ///< nullptr when missing
  /// The symbol as a function of the given pointer type; null when missing.
  template <typename Function>
  Function function(const char* name) const {
    return reinterpret_cast<Function>(symbol(name));
  }
  const std::string& path() const { return path_; }

 private:
  void* handle_ = nullptr;
  std::string path_;
};

/// The file that a loaded library's function came from; empty when the loader does not tell.
std::string file_of(const void* function);

/// Fills a table of functions from a library, and notes which the library lacks.
class SymbolLoader {
 public:
  explicit SymbolLoader(const Library& library) : library_(library) {}
  template <typename Function>
  void load(Function& function, const char* name) {
    function = library_.function<Function>(name);
    if (function == nullptr) missing_ += std::string(missing_.empty() ? "" : ", ") + name;
  }
  const std::string& missing() const { return missing_; }  ///< "a, b"; empty: none

 private:
  const Library& library_;
  std::string missing_;
};

}  // namespace fatune::gpu

namespace fatune {

struct Toolchain {
  /// Files, or names for the loader, to be tried in order by a compile worker.
  std::vector<std::filesystem::path> nvrtc;
  /// For kernels that include cuda_fp16.h or mma.h; empty when headers_problem says what is
  /// missing.
  std::vector<std::filesystem::path> include_folders;
  std::string headers_problem;
};

/// Opens nothing. Where NVRTC may be: --nvrtc alone if given; else the roots, then the loader's own
/// path, and the wheels of the python3 on PATH when no root has it.
Toolchain find_toolchain(const gpu::SearchPaths& search);

/// The libnvrtc.so files of a folder, newest version first.
std::vector<std::filesystem::path> nvrtc_files(const std::filesystem::path& folder);
/// The builtins library that belongs to an NVRTC file; empty when there is none beside it.
std::filesystem::path builtins_beside(const std::filesystem::path& nvrtc);
/// SHA-256 over the toolkit's headers of these names, and all that they include, whatever #if says;
/// one that is not there is passed over.
std::string headers_identity(const Toolchain& toolchain, const std::vector<std::string>& names);

}  // namespace fatune
