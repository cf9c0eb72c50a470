// nvrtc.cpp - NVRTC's entry points, opened at run time, and one compilation through them.
#include "worker/compile/nvrtc.hpp"

#include <algorithm>

#include <nvrtc.h>

#include "core/text.hpp"
#include "gpu/library.hpp"
#include "worker/protocol/compilation.hpp"

namespace fatune {
namespace {

namespace fs = std::filesystem;

struct Api {
  decltype(&::nvrtcVersion) version;
  decltype(&::nvrtcGetErrorString) error_string;
  decltype(&::nvrtcGetNumSupportedArchs) arch_count;
  decltype(&::nvrtcGetSupportedArchs) archs;
  decltype(&::nvrtcCreateProgram) create;
  decltype(&::nvrtcDestroyProgram) destroy;
  decltype(&::nvrtcCompileProgram) compile;
  decltype(&::nvrtcGetCUBINSize) cubin_size;
  decltype(&::nvrtcGetCUBIN) cubin;
  decltype(&::nvrtcGetPTXSize) ptx_size;
  decltype(&::nvrtcGetPTX) ptx;
  decltype(&::nvrtcGetProgramLogSize) log_size;
  decltype(&::nvrtcGetProgramLog) log;
};

/// Empty, or the first function that the library lacks.
std::string load(const gpu::Library& library, Api& api) {
  std::string missing;
  const auto one = [&](auto& function, const char* symbol) {
    function = library.function<std::decay_t<decltype(function)>>(symbol);
    if (function == nullptr && missing.empty()) missing = symbol;
  };
  one(api.version, "nvrtcVersion");
  one(api.error_string, "nvrtcGetErrorString");
  one(api.arch_count, "nvrtcGetNumSupportedArchs");
  one(api.archs, "nvrtcGetSupportedArchs");
  one(api.create, "nvrtcCreateProgram");
  one(api.destroy, "nvrtcDestroyProgram");
  one(api.compile, "nvrtcCompileProgram");
  one(api.cubin_size, "nvrtcGetCUBINSize");
  one(api.cubin, "nvrtcGetCUBIN");
  one(api.ptx_size, "nvrtcGetPTXSize");
  one(api.ptx, "nvrtcGetPTX");
  one(api.log_size, "nvrtcGetProgramLogSize");
  one(api.log, "nvrtcGetProgramLog");
  return missing;
}

/// Two-call string results: ask for the size, then for the bytes.
std::string fetch(nvrtcProgram program, nvrtcResult (*size_of)(nvrtcProgram, std::size_t*),
                  nvrtcResult (*copy)(nvrtcProgram, char*)) {
  std::size_t size = 0;
  if (size_of(program, &size) != NVRTC_SUCCESS || size == 0) return "";
  std::string bytes(size, '\0');
  if (copy(program, bytes.data()) != NVRTC_SUCCESS) return "";
  return bytes;
}

/// Text results end with a zero byte that counts, and the assembler's messages bring more of them.
std::string text_of(std::string bytes) {
  std::erase(bytes, '\0');
  return bytes;
}

struct Input {
  std::string name, text;
  std::vector<SourceFile> headers;
  std::vector<std::string> options;
};

struct Output {
  nvrtcResult code = NVRTC_SUCCESS;
  std::string log, cubin, ptx;
};

enum class Wanted { kCubin, kPtx };

Output run(const Api& api, const Input& input, Wanted wanted) {
  std::vector<const char*> texts, names, options;
  for (const auto& header : input.headers) {
    texts.push_back(header.text.c_str());
    names.push_back(header.path.c_str());
  }
  for (const auto& option : input.options) options.push_back(option.c_str());
  Output output;
  nvrtcProgram program = nullptr;
  output.code = api.create(&program, input.text.c_str(), input.name.c_str(),
                           static_cast<int>(texts.size()), texts.data(), names.data());
  if (output.code != NVRTC_SUCCESS) return output;
  output.code = api.compile(program, static_cast<int>(options.size()), options.data());
  output.log = text_of(fetch(program, api.log_size, api.log));
  if (output.code == NVRTC_SUCCESS) {
    if (wanted == Wanted::kCubin) output.cubin = fetch(program, api.cubin_size, api.cubin);
    if (wanted == Wanted::kPtx) output.ptx = text_of(fetch(program, api.ptx_size, api.ptx));
  }
  api.destroy(&program);
  return output;
}

/// The word after `marker`, up to a character that ends one.
std::string word_after(const std::string& text, std::string_view marker) {
  const std::size_t at = text.find(marker);
  if (at == std::string::npos) return "";
  const std::size_t begin = at + marker.size();
  return text.substr(begin, text.find_first_of(" \n\r,", begin) - begin);
}

/// Opens one place: the builtins of the same folder first, since version 13 has no run path to
/// them.
Result<gpu::Library> open_place(const fs::path& place, std::vector<gpu::TriedPlace>& tried) {
  if (const fs::path builtins = builtins_beside(place); !builtins.empty()) {
    auto opened = gpu::Library::open({builtins.string()});
    if (!opened) tried.push_back({builtins.string(), opened.error().message});
  }
  return gpu::Library::open({place.string()}, &tried);
}

}  // namespace

struct Nvrtc::State {
  Api api{};
  std::string path, version, identity;
  std::vector<int> archs;
  std::vector<fs::path> include_folders;
  bool has_no_cache = false;  ///< knows --no-cache: since 12.9 it keeps a disk cache of its own

  /// Compiles one line; learns the exact version from the output's header. Empty, or what is wrong.
  std::string learn();
};

std::string Nvrtc::State::learn() {
  int major = 0;
  int minor = 0;
  if (api.version(&major, &minor) != NVRTC_SUCCESS) return "nvrtcVersion failed";
  version = std::to_string(major) + "." + std::to_string(minor);
  int count = 0;
  if (api.arch_count(&count) != NVRTC_SUCCESS || count <= 0) return "it knows no architecture";
  archs.resize(static_cast<std::size_t>(count));
  if (api.archs(archs.data()) != NVRTC_SUCCESS) return "it knows no architecture";
  Input input{
      .name = "warm_up.cu",
      .text = "extern \"C\" __global__ void warm_up() {}\n",
      .headers = {},
      .options = {"--gpu-architecture=compute_" + std::to_string(archs.front()), "--no-cache"}};
  Output output = run(api, input, Wanted::kPtx);
  has_no_cache = output.code == NVRTC_SUCCESS;
  if (output.code == NVRTC_ERROR_INVALID_OPTION) {
    input.options.pop_back();
    output = run(api, input, Wanted::kPtx);
  }
  if (output.code != NVRTC_SUCCESS) {
    return std::string("it opens but does not compile: ") + api.error_string(output.code) + " " +
           output.log;
  }
  // "// Compiler Build ID: CL-36424714" and "// Cuda compilation tools, release 13.0, V13.0.88"
  if (const std::string exact = word_after(output.ptx, ", V"); !exact.empty()) version = exact;
  identity = "nvrtc " + version;
  if (const std::string build = word_after(output.ptx, "Build ID: "); !build.empty()) {
    identity += " " + build;
  }
  return "";
}

Result<Nvrtc> Nvrtc::open(const Toolchain& toolchain) {
  std::vector<gpu::TriedPlace> tried;
  for (const auto& place : toolchain.nvrtc) {
    auto library = open_place(place, tried);
    if (!library) continue;
    auto state = std::make_shared<State>();
    std::string problem;
    if (const std::string missing = load(*library, state->api); !missing.empty()) {
      problem = "it lacks " + missing;
    } else {
      problem = state->learn();
    }
    if (problem.empty()) {
      state->path = library->path();
      state->include_folders = toolchain.include_folders;
      return Nvrtc(std::move(state));
    }
    tried.back().problem = problem;
  }
  return environment_error(
      "the CUDA runtime compiler (NVRTC) was not found. Install it (pip install "
      "nvidia-cuda-nvrtc), or "
      "name it with --nvrtc PATH or CUDA_HOME. Tried:\n" +
      gpu::describe(tried));
}

Nvrtc::Nvrtc(std::shared_ptr<const State> state) : state_(std::move(state)) {}
const std::string& Nvrtc::path() const { return state_->path; }
const std::string& Nvrtc::version() const { return state_->version; }
const std::string& Nvrtc::identity() const { return state_->identity; }
const std::vector<int>& Nvrtc::archs() const { return state_->archs; }

CompilerOutput Nvrtc::compile(const CompileRequest& request) const {
  CompilerOutput program;
  program.problem = unsupported_arch(request.arch, state_->version, state_->archs);
  if (!program.problem.empty()) return program;
  Input input{.name = request.source.path,
              .text = request.source.text,
              .headers = request.headers,
              .options = compile_options(request)};
  if (state_->has_no_cache) input.options.emplace_back("--no-cache");
  if (request.toolkit_headers) {
    for (const auto& folder : state_->include_folders) {
      input.options.push_back("--include-path=" + folder.string());
    }
  }
  Output output = run(state_->api, input, Wanted::kCubin);
  program.log = std::move(output.log);
  program.cubin = std::move(output.cubin);
  program.ok = output.code == NVRTC_SUCCESS && !program.cubin.empty();
  if (program.ok) return program;
  program.problem = first_error(program.log);
  if (!program.problem.empty()) return program;
  program.problem = output.code == NVRTC_SUCCESS
                        ? "the compiler gave no machine code"
                        : std::string(state_->api.error_string(output.code)) + " without a message";
  return program;
}

std::string first_error(std::string_view log) {
  for (const auto& line : split(log, '\n')) {
    const std::string_view text = trim(line);
    // "x.cu(1): error: ...", "catastrophic error: ...", "ptxas ..., line 23; error   : ...", "ptxas
    // fatal   : ..."
    for (const char* marker : {"error:", "error :", "error   :", "fatal   :", "fatal :"}) {
      if (text.find(marker) == std::string_view::npos) continue;
      std::string problem(text);
      if (problem.find("cannot open source file") != std::string::npos ||
          problem.find("could not open source file") != std::string::npos) {
        problem += " (toolkit headers need \"needs_toolkit_headers\": true in the manifest)";
      }
      return problem;
    }
  }
  return "";
}

}  // namespace fatune
