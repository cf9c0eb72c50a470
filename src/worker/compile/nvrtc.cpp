// nvrtc.cpp: Opens NVRTC at run time, compiles with it, and runs the compile worker process.
#include "worker/compile/nvrtc.hpp"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <nvrtc.h>
#include <unistd.h>

#include "core/channel.hpp"
#include "core/child.hpp"
#include "core/confinement.hpp"
#include "core/fields.hpp"
#include "core/file.hpp"
#include "core/hash.hpp"
#include "core/log.hpp"
#include "core/text.hpp"
#include "worker/compile/submitted.hpp"

namespace fatune {
namespace {

namespace fs = std::filesystem;

/// Member and symbol.
#define FATUNE_NVRTC_FUNCTIONS(X)          \
  X(version, nvrtcVersion)                 \
  X(error_string, nvrtcGetErrorString)     \
  X(arch_count, nvrtcGetNumSupportedArchs) \
  X(archs, nvrtcGetSupportedArchs)         \
  X(create, nvrtcCreateProgram)            \
  X(destroy, nvrtcDestroyProgram)          \
  X(add_name, nvrtcAddNameExpression)      \
  X(compile, nvrtcCompileProgram)          \
  X(cubin_size, nvrtcGetCUBINSize)         \
  X(cubin, nvrtcGetCUBIN)                  \
  X(ptx_size, nvrtcGetPTXSize)             \
  X(ptx, nvrtcGetPTX)                      \
  X(log_size, nvrtcGetProgramLogSize)      \
  X(log, nvrtcGetProgramLog)

struct Api {
#define FATUNE_DECLARE(member, symbol) decltype(&::symbol) member = nullptr;
  FATUNE_NVRTC_FUNCTIONS(FATUNE_DECLARE)
#undef FATUNE_DECLARE
};

/// The first function that the library lacks; empty if it has all.
std::string load(const gpu::Library& library, Api& api) {
  gpu::SymbolLoader symbols(library);
#define FATUNE_LOAD(member, symbol) symbols.load(api.member, #symbol);
  FATUNE_NVRTC_FUNCTIONS(FATUNE_LOAD)
#undef FATUNE_LOAD
  return symbols.missing().substr(0, symbols.missing().find(','));
}

/// Reads a string result in two calls: the size, then the bytes.
std::string fetch(nvrtcProgram program, nvrtcResult (*size_of)(nvrtcProgram, std::size_t*),
                  nvrtcResult (*copy)(nvrtcProgram, char*)) {
  std::size_t size = 0;
  if (size_of(program, &size) != NVRTC_SUCCESS || size == 0) return "";
  std::string bytes(size, '\0');
  if (copy(program, bytes.data()) != NVRTC_SUCCESS) return "";
  return bytes;
}

/// Text results end with a zero byte that counts, and the assembler's messages contain more.
std::string text_of(std::string bytes) {
  std::erase(bytes, '\0');
  return bytes;
}

struct Output {
  nvrtcResult code = NVRTC_SUCCESS;
  std::string log;
  std::string result;  ///< as wanted
  std::string ptx;     ///< for a submission, beside machine code
};

enum class Wanted { kCubin, kPtx };

Output run(const Api& api, const CompileRequest& request, const std::vector<std::string>& flags,
           Wanted wanted) {
  std::vector<const char*> texts, names, options;
  for (const auto& header : request.headers) {
    texts.push_back(header.text.c_str());
    names.push_back(header.path.c_str());
  }
  for (const auto& flag : flags) options.push_back(flag.c_str());
  Output output;
  nvrtcProgram program = nullptr;
  output.code = api.create(&program, request.source.text.c_str(), request.source.path.c_str(),
                           static_cast<int>(texts.size()), texts.data(), names.data());
  if (output.code != NVRTC_SUCCESS) return output;
  for (const std::string& instance : request.instances)
    output.code = std::max(output.code, api.add_name(program, instance.c_str()));
  if (output.code == NVRTC_SUCCESS)
    output.code = api.compile(program, static_cast<int>(options.size()), options.data());
  output.log = text_of(fetch(program, api.log_size, api.log));
  if (output.code == NVRTC_SUCCESS) {
    output.result = wanted == Wanted::kCubin ? fetch(program, api.cubin_size, api.cubin)
                                             : fetch(program, api.ptx_size, api.ptx);
    if (request.submitted) output.ptx = text_of(fetch(program, api.ptx_size, api.ptx));
  }
  api.destroy(&program);
  return output;
}

/// Remedy for a header that is not found.
const char* header_remedy(const CompileRequest& request) {
  return request.toolkit_headers
             ? " (headers of the host are not there: use the compiler's own types, such as long "
               "long)"
             : " (toolkit headers need \"needs_toolkit_headers\": true in the manifest)";
}

/// The word after `marker`.
std::string word_after(const std::string& text, std::string_view marker) {
  const std::size_t at = text.find(marker);
  if (at == std::string::npos) return "";
  const std::size_t begin = at + marker.size();
  return text.substr(begin, text.find_first_of(" \n\r,", begin) - begin);
}

/// Opens the library at one place. The builtins of the same folder go first, because version 13 has
/// no run path to them.
Result<gpu::Library> open_place(const fs::path& place, std::vector<gpu::TriedPlace>& tried) {
  if (const fs::path builtins = builtins_beside(place); !builtins.empty()) {
    auto opened = gpu::Library::open({builtins.string()});
    if (!opened) tried.push_back({builtins.string(), opened.error().message});
  }
  return gpu::Library::open({place.string()}, &tried);
}

constexpr int kNiceness = 5;  ///< chosen: the parent and the device worker come first

Reply answer(const Nvrtc& nvrtc, const CompileOrder& order, const WorkerOptions& options) {
  std::string cubin;
  Compiled compiled = nvrtc.compile(order.request, cubin);
  return stored_reply(order.key, std::move(compiled), cubin, options);
}

/// Serves until the parent closes the channel.
Status serve(Channel& channel, const Nvrtc& nvrtc, const WorkerOptions& options) {
  while (true) {
    const auto message = channel.receive();
    if (!message) return {};
    FATUNE_TRY(const CompileOrder order, read_value<CompileOrder>(*message, "order of the pool"));
    FATUNE_TRY_STATUS(channel.send(to_json(answer(nvrtc, order, options))));
  }
}

/// A template includes only what its manifest allows (model/kernel/includes.hpp). Even if that
/// check fails, the compiler cannot read or write the user's files.
void confine_to_work(const Nvrtc& nvrtc, const WorkerOptions& options) {
  // A folder that cannot be made shows when machine code is stored.
  static_cast<void>(make_directories(options.cache, Access::kPrivate));
  static_cast<void>(sha256_hex(""));  // with its first hash OpenSSL reads its settings
  ConfinedFolders folders{nvrtc.folders(), {options.cache, options.fallback, "/dev/null"}};
  // The system's libraries, and files that the C library reads about memory and processors.
  for (const char* place : {"/usr", "/lib", "/lib64", "/etc/ld.so.cache", "/etc/localtime",
                            "/dev/urandom", "/proc/self", "/sys/devices/system/cpu"})
    folders.readable.emplace_back(place);
  confine(folders);
}

Result<WorkerOptions> parse_options(std::span<const std::string> args) {
  if (args.size() != 1) return usage_error("compile-worker is started by fatune itself");
  FATUNE_TRY(const Json options, parse_json(args.front(), "compile-worker"));
  return read_value<WorkerOptions>(options, "compile-worker");
}

}  // namespace

struct Nvrtc::State {
  Api api;
  Greeting facts;
  std::vector<fs::path> include_folders;
  bool has_no_cache = false;  ///< knows --no-cache: since 12.9 it keeps a disk cache of its own

  /// Compiles one line, and learns the exact version from the output's header. Returns an error's
  /// text, or nothing.
  std::string learn();
};

std::string Nvrtc::State::learn() {
  int major = 0, minor = 0, count = 0;
  if (api.version(&major, &minor) != NVRTC_SUCCESS) return "nvrtcVersion failed";
  facts.version = fmt::format("{}.{}", major, minor);
  if (api.arch_count(&count) != NVRTC_SUCCESS || count <= 0) return "it knows no architecture";
  facts.archs.resize(static_cast<std::size_t>(count));
  if (api.archs(facts.archs.data()) != NVRTC_SUCCESS) return "it knows no architecture";
  CompileRequest request;
  request.source = {"warm_up.cu", "extern \"C\" __global__ void warm_up() {}\n"};
  std::vector<std::string> flags = {
      fmt::format("--gpu-architecture=compute_{}", facts.archs.front()), "--no-cache"};
  Output output = run(api, request, flags, Wanted::kPtx);
  has_no_cache = output.code == NVRTC_SUCCESS;
  if (output.code == NVRTC_ERROR_INVALID_OPTION) {
    flags.pop_back();
    output = run(api, request, flags, Wanted::kPtx);
  }
  if (output.code != NVRTC_SUCCESS) {
    return fmt::format("it opens but does not compile: {} {}", api.error_string(output.code),
                       output.log);
  }
  // "// Compiler Build ID: CL-36424714" and "// Cuda compilation tools, release 13.0, V13.0.88"
  const std::string exact = word_after(output.result, ", V");
  if (!exact.empty()) facts.version = exact;
  facts.identity = "nvrtc " + facts.version;
  const std::string build = word_after(output.result, "Build ID: ");
  if (!build.empty()) facts.identity += " " + build;
  return "";
}

Result<Nvrtc> Nvrtc::open(const Toolchain& toolchain) {
  std::vector<gpu::TriedPlace> tried;
  for (const auto& place : toolchain.nvrtc) {
    auto library = open_place(place, tried);
    if (!library) continue;
    auto state = std::make_shared<State>();
    const std::string missing = load(*library, state->api);
    const std::string problem = missing.empty() ? state->learn() : "it lacks " + missing;
    if (problem.empty()) {
      state->facts.path = library->path();
      state->include_folders = toolchain.include_folders;
      return Nvrtc(std::move(state));
    }
    tried.back().problem = problem;
  }
  return environment_error(
      "the CUDA runtime compiler (NVRTC) was not found. Install it (pip install "
      "nvidia-cuda-nvrtc), or name it with --nvrtc PATH or CUDA_HOME. Tried:\n" +
      gpu::describe(tried));
}

Nvrtc::Nvrtc(std::shared_ptr<const State> state) : state_(std::move(state)) {}
const Greeting& Nvrtc::facts() const { return state_->facts; }

std::vector<fs::path> Nvrtc::folders() const {
  std::vector<fs::path> folders = state_->include_folders;
  const auto* function = reinterpret_cast<const void*>(state_->api.version);
  folders.push_back(fs::path(gpu::file_of(function)).parent_path());
  return folders;
}

Compiled Nvrtc::compile(const CompileRequest& request, std::string& cubin) const {
  std::string ptx;
  if (!request.submitted) return compile_freely(request, cubin, ptx);
  const CompilerMemoryLimit limit;
  Compiled compiled = compile_freely(request, cubin, ptx);
  settle_submission(ptx, compiled, cubin);
  return compiled;
}

std::vector<std::string> Nvrtc::flags_for(const CompileRequest& request) const {
  std::vector<std::string> flags = compile_options(request);
  if (state_->has_no_cache) flags.emplace_back("--no-cache");
  if (!request.toolkit_headers) return flags;
  for (const auto& folder : state_->include_folders)
    flags.push_back("--include-path=" + folder.string());
  return flags;
}

Result<std::string> Nvrtc::ptx(const CompileRequest& request) const {
  const std::string refusal = unsupported_arch(request.arch, facts().version, facts().archs);
  if (!refusal.empty()) return environment_error(refusal);
  std::vector<std::string> flags = flags_for(request);
  const std::string machine = "--gpu-architecture=" + name(request.arch);
  const std::string virtual_arch = name(request.arch).replace(0, 2, "compute");
  std::replace(flags.begin(), flags.end(), machine, "--gpu-architecture=" + virtual_arch);
  Output output = run(state_->api, request, flags, Wanted::kPtx);
  if (output.code == NVRTC_SUCCESS) return text_of(std::move(output.result));
  return environment_error(request.label + " does not compile:\n" + output.log);
}

Compiled Nvrtc::compile_freely(const CompileRequest& request, std::string& cubin,
                               std::string& ptx) const {
  Compiled compiled;
  compiled.problem = unsupported_arch(request.arch, facts().version, facts().archs);
  if (!compiled.problem.empty()) return compiled;
  const std::vector<std::string> flags = flags_for(request);
  const auto start = std::chrono::steady_clock::now();
  Output output = run(state_->api, request, flags, Wanted::kCubin);
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
  compiled.seconds = spent.count();
  compiled.entries = parse_compile_log(output.log);
  compiled.log = std::move(output.log);
  cubin = std::move(output.result);
  ptx = std::move(output.ptx);
  compiled.ok = output.code == NVRTC_SUCCESS && !cubin.empty();
  if (compiled.ok) {
    compiled.cubin_hash = sha256_hex(cubin);
    return compiled;
  }
  compiled.problem = first_error(compiled.log);
  // The compiler's name for the lines that instantiate templates.
  if (compiled.problem.starts_with("__nv_name_map"))
    compiled.problem = fmt::format("entry {}{}", join(request.instances, " or "),
                                   compiled.problem.substr(compiled.problem.find(": ")));
  if (compiled.problem.find("not open source file") != std::string::npos)
    compiled.problem += header_remedy(request);
  if (!compiled.problem.empty()) return compiled;
  compiled.problem =
      output.code == NVRTC_SUCCESS
          ? "the compiler gave no machine code"
          : fmt::format("{} without a message", state_->api.error_string(output.code));
  return compiled;
}

std::string first_error(std::string_view log) {
  for (const auto& line : split(log, '\n')) {
    const std::string_view text = trim(line);
    // "x.cu(1): error: ...", "catastrophic error: ...", "ptxas ..., line 23; error   : ...", "ptxas
    // fatal   : ..."
    for (const char* marker : {"error:", "error :", "error   :", "fatal   :", "fatal :"}) {
      if (text.find(marker) == std::string_view::npos) continue;
      return std::string(text);
    }
  }
  return "";
}

int compile_worker_main(std::span<const std::string> args) {
  const auto options = parse_options(args);
  if (!options) {
    log::error(options.error().message);
    return 2;
  }
  // Without the lower priority the worker runs like other processes.
  [[maybe_unused]] const int niceness = nice(kNiceness);
  Channel channel(Child::kChannelDescriptor);
  const auto nvrtc = Nvrtc::open(options->toolchain);
  const Greeting greeting = nvrtc ? nvrtc->facts() : Greeting{.problem = nvrtc.error().message};
  if (!channel.send(to_json(greeting))) return 0;
  if (!nvrtc) return 3;
  confine_to_work(*nvrtc, *options);
  const Status served = serve(channel, *nvrtc, *options);
  if (served) return 0;
  log::error("compile worker: " + served.error().message);
  return 70;
}

}  // namespace fatune
