// cudnn_library.cpp - candidates for libcudnn.so.9, and its functions by name.
#include "worker/baselines/cudnn_library.hpp"

#include <algorithm>
#include <string>
#include <system_error>

#include "gpu/library.hpp"
#include "gpu/toolchain.hpp"

namespace fatune {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLibrary = "libcudnn.so.9";
constexpr const char* kRemedy =
    "install it with 'pip install nvidia-cudnn-cu13' for the python3 on PATH (PyTorch's CUDA "
    "wheels "
    "bring it)";

/// cuDNN opens its parts by their bare names, and LD_LIBRARY_PATH would win over their own folder:
/// opened here by path, the parts of one release stay together. Those that a release lacks are
/// left out.
void open_parts_beside(const fs::path& library) {
  for (const char* part :
       {"libcudnn_graph.so.9", "libcudnn_heuristic.so.9", "libcudnn_engines_precompiled.so.9",
        "libcudnn_engines_runtime_compiled.so.9", "libcudnn_engines_tensor_ir.so.9"}) {
    const fs::path file = library.parent_path() / part;
    std::error_code ignored;
    if (fs::exists(file, ignored)) static_cast<void>(gpu::Library::open({file.string()}));
  }
}

/// Engines that are compiled at run time ask for NVRTC by its bare name, and NVRTC 13 asks for its
/// builtins the same way without a run path: both are opened here, builtins first. That there is
/// none is no error: the loader may know one.
void open_compiler(const std::vector<fs::path>& roots) {
  for (const fs::path& root : roots) {
    for (const char* folder : {"lib64", "lib"}) {
      for (const fs::path& file : nvrtc_files(root / folder)) {
        if (const fs::path builtins = builtins_beside(file); !builtins.empty())
          static_cast<void>(gpu::Library::open({builtins.string()}));
        if (gpu::Library::open({file.string()})) return;
      }
    }
  }
}

/// Toolkits beside cuDNN's wheel, then those of the user and the system.
std::vector<fs::path> compiler_roots(const fs::path& library,
                                     const std::vector<fs::path>& folders) {
  std::vector<fs::path> roots;
  if (library.has_parent_path()) {
    const fs::path wheels = library.parent_path().parent_path().parent_path();
    roots = gpu::wheel_roots(wheels.parent_path());
  }
  const auto more = gpu::default_search_paths("", folders).cuda_roots;
  roots.insert(roots.end(), more.begin(), more.end());
  return roots;
}

Result<CudnnFunctions> load_cudnn(const gpu::Library& library) {
  CudnnFunctions functions;
  gpu::SymbolLoader symbols(library);
  symbols.load(functions.version, "cudnnGetVersion");
  symbols.load(functions.status_text, "cudnnGetErrorString");
  symbols.load(functions.last_error, "cudnnGetLastErrorString");
  symbols.load(functions.create, "cudnnCreate");
  symbols.load(functions.destroy, "cudnnDestroy");
  symbols.load(functions.set_stream, "cudnnSetStream");
  symbols.load(functions.create_descriptor, "cudnnBackendCreateDescriptor");
  symbols.load(functions.destroy_descriptor, "cudnnBackendDestroyDescriptor");
  symbols.load(functions.set_attribute, "cudnnBackendSetAttribute");
  symbols.load(functions.get_attribute, "cudnnBackendGetAttribute");
  symbols.load(functions.finalize, "cudnnBackendFinalize");
  symbols.load(functions.execute, "cudnnBackendExecute");
  if (symbols.missing().empty()) return functions;
  return environment_error(library.path() + " lacks " + symbols.missing() + "; " + kRemedy);
}

}  // namespace

std::vector<fs::path> cudnn_files(const std::vector<fs::path>& folders,
                                  const std::vector<fs::path>& site_packages) {
  std::vector<fs::path> files;
  const auto add_existing = [&](const fs::path& file) {
    std::error_code ignored;
    if (!fs::exists(file, ignored)) return;
    if (std::find(files.begin(), files.end(), file) == files.end()) files.push_back(file);
  };
  const fs::path wheel = fs::path("nvidia") / "cudnn" / "lib" / kLibrary;
  for (const fs::path& folder : folders) {
    for (const fs::path& place : {folder, folder / "lib", folder / "lib64"})
      add_existing(place / kLibrary);
    add_existing(folder / wheel);
    add_existing(folder / "cuda" / wheel);  // a .deps folder keeps its wheels there
  }
  for (const fs::path& folder : site_packages) add_existing(folder / wheel);
  files.emplace_back(kLibrary);
  return files;
}

Result<CudnnFunctions> open_cudnn_library(const std::vector<fs::path>& folders) {
  const std::vector<fs::path> site_packages = gpu::python_site_packages();
  std::vector<gpu::TriedPlace> tried;
  for (const fs::path& file : cudnn_files(folders, site_packages)) {
    const auto library = gpu::Library::open({file.string()}, &tried);
    if (!library) continue;
    open_compiler(compiler_roots(file, folders));
    if (file.has_parent_path()) open_parts_beside(file);
    return load_cudnn(*library);
  }
  std::string text = "cuDNN 9 could not be opened; tried:\n" + gpu::describe(tried);
  for (const fs::path& folder : folders) text += "\n  " + folder.string() + ": none there";
  for (const fs::path& folder : site_packages)
    text += "\n  " + (folder / "nvidia" / "cudnn" / "lib").string() + ": none there";
  return environment_error(text + "\n" + kRemedy);
}

}  // namespace fatune
