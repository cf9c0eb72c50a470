// cudnn_library.cpp: Opens libcudnn.so.9 and handles its errors and descriptors.
#include "worker/baselines/cudnn_library.hpp"

#include <algorithm>
#include <array>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "core/log.hpp"
#include "core/text.hpp"
#include "gpu/library.hpp"

namespace fatune {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLibrary = "libcudnn.so.9";
constexpr const char* kRemedy =
    "install it with 'pip install nvidia-cudnn-cu13' for the python3 on PATH (PyTorch's CUDA "
    "wheels bring it)";

/// Opens cuDNN's parts by path, so that the parts of one release stay together: cuDNN opens them by
/// their bare names, which LD_LIBRARY_PATH may send to another folder. A missing part is skipped.
void open_parts_beside(const fs::path& library) {
  for (const char* part :
       {"libcudnn_graph.so.9", "libcudnn_heuristic.so.9", "libcudnn_engines_precompiled.so.9",
        "libcudnn_engines_runtime_compiled.so.9", "libcudnn_engines_tensor_ir.so.9"}) {
    const fs::path file = library.parent_path() / part;
    std::error_code ignored;
    if (fs::exists(file, ignored)) static_cast<void>(gpu::Library::open({file.string()}));
  }
}

/// Opens NVRTC's builtins, then NVRTC. Engines that are compiled at run time open NVRTC by its bare
/// name, and NVRTC 13 opens its builtins so without a run path. A missing file is no error: the
/// loader may find one.
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

/// Toolkits beside cuDNN's wheel, then the user's and the system's.
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
#define FATUNE_LOAD(member, result, arguments, symbol) symbols.load(functions.member, symbol);
  FATUNE_CUDNN_FUNCTIONS(FATUNE_LOAD)
#undef FATUNE_LOAD
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

std::string cudnn_version_text(std::size_t version) {
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

std::string cudnn_last_error(const CudnnFunctions& functions) {
  std::array<char, 1024> text{};
  functions.last_error(text.data(), text.size());
  text.back() = '\0';
  std::vector<std::string> lines;
  for (const std::string& line : split(text.data(), '\n')) {
    if (const auto words = trim(line); !words.empty()) lines.emplace_back(words);
  }
  return join(lines, "; ");
}

Status cudnn_check(const CudnnFunctions& functions, int status, const std::string& doing) {
  if (status == 0) return {};
  const char* name = functions.status_text(status);
  std::string text =
      fmt::format("cannot {}: {} ({})", doing, name == nullptr ? "cuDNN status" : name, status);
  if (const std::string detail = cudnn_last_error(functions); !detail.empty())
    text += ": " + detail;
  log::debug(text);
  return device_error(text);
}

Result<CudnnDescriptor> CudnnDescriptor::create(const CudnnFunctions& functions, CudnnName kind) {
  void* raw = nullptr;
  FATUNE_TRY_STATUS(cudnn_check(functions, functions.create_descriptor(kind.value, &raw),
                                fmt::format("create {}", kind.text)));
  CudnnDescriptor created;
  created.functions_ = &functions;
  created.kind_ = kind;
  created.raw_ = CudnnOwned(raw, functions.destroy_descriptor);
  return created;
}

Result<CudnnDescriptor> CudnnDescriptor::make(const CudnnFunctions& functions, CudnnName kind,
                                              std::initializer_list<CudnnSetting> settings) {
  FATUNE_TRY(CudnnDescriptor made, create(functions, kind));
  for (const CudnnSetting& each : settings) {
    if (each.count == 0) continue;
    const int status = functions.set_attribute(
        made.raw(), each.attribute.value, static_cast<int>(each.attribute.type), each.count,
        each.several == nullptr ? &each.single : each.several);
    FATUNE_TRY_STATUS(cudnn_check(functions, status,
                                  fmt::format("set {} of {}", each.attribute.text, kind.text)));
  }
  FATUNE_TRY_STATUS(cudnn_check(functions, functions.finalize(made.raw()),
                                fmt::format("finalize {}", kind.text)));
  return made;
}

Result<std::int64_t> CudnnDescriptor::read(CudnnName attribute, std::int64_t room,
                                           void* values) const {
  std::int64_t count = 0;
  const int status = functions_->get_attribute(
      raw(), attribute.value, static_cast<int>(attribute.type), room, &count, values);
  FATUNE_TRY_STATUS(
      cudnn_check(*functions_, status, fmt::format("read {} of {}", attribute.text, kind_.text)));
  return count;
}

Result<std::vector<CudnnDescriptor>> CudnnDescriptor::descriptors(CudnnName attribute,
                                                                  CudnnName kind,
                                                                  std::int64_t room) const {
  std::vector<CudnnDescriptor> filled;
  std::vector<void*> raw;
  for (std::int64_t i = 0; i < room; ++i) {
    FATUNE_TRY(CudnnDescriptor descriptor, create(*functions_, kind));
    raw.push_back(descriptor.raw());
    filled.push_back(std::move(descriptor));
  }
  if (filled.empty()) return filled;
  FATUNE_TRY(const std::int64_t count, read(attribute, room, static_cast<void*>(raw.data())));
  filled.resize(static_cast<std::size_t>(std::min(count, room)));
  return filled;
}

}  // namespace fatune
