// compilation.hpp: Declares compile requests, their results, and the cache that keeps them on disk.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/fields_fwd.hpp"
#include "core/result.hpp"
#include "gpu/library.hpp"
#include "model/kernel/candidate.hpp"
#include "model/results/measurement.hpp"

namespace fatune {

/// One compilation: everything that decides the machine code.
struct CompileRequest {
  std::string label;  ///< "fa_mma BLOCK_M=128 ...", for messages
  SourceFile source;
  std::vector<SourceFile> headers;
  std::vector<std::string> macros;          ///< "BLOCK_M=128"
  std::vector<std::string> options = {};    ///< of the manifest
  std::vector<std::string> instances = {};  ///< of templates: "reduce<BLOCK, float>"
  Arch arch;
  bool toolkit_headers = false;
  bool submitted = false;  ///< held to limits, and searched for state
};
CompileRequest compile_request(const Candidate& candidate, const DeviceLimits& limits,
                               const std::vector<std::string>& extra_macros = {});
/// The options that decide the machine code, besides macros and include folders: language, target,
/// and those of the manifest.
std::vector<std::string> code_options(const CompileRequest& request);
/// The compiler's options without include folders: code_options(), reports, macros.
std::vector<std::string> compile_options(const CompileRequest& request);
/// SHA-256 over the request, the compiler's version and, with toolkit headers, theirs.
std::string cache_key(const CompileRequest& request, const std::string& compiler_identity);
/// The options that are part of a candidate's id.
std::string id_options(const Arch& arch, const std::string& compiler_identity);
void fields(CompileRequest& x, FieldList& f);

struct Compiled {
  bool ok = false;
  std::string problem;                       ///< first error line, when not ok
  std::string log;                           ///< whole compiler log
  std::filesystem::path cubin_path;          ///< in the cache
  std::string cubin_hash;                    ///< SHA-256 of the machine code
  std::map<std::string, Resources> entries;  ///< by entry name, from the log
  double seconds = 0;                        ///< time of the compiler; 0 on a cache hit
  bool from_cache = false;
  /// Resources of an entry by its name in a manifest; null if the log does not tell them.
  const Resources* resources_of(std::string_view entry) const;
  std::optional<std::size_t> process = {};           ///< the compile process, from 0
  std::chrono::steady_clock::time_point ended = {};  ///< when the result arrived
};
/// Does not list `process` and `ended`, which the waiting process sets.
void fields(Compiled& x, FieldList& f);

/// Registers, spills, stack frame, shared memory by entry, and the warnings worth keeping (C75xx,
/// spills, stack frame).
std::map<std::string, Resources> parse_compile_log(std::string_view log);

/// Keeps <2 hex digits>/<key>.json with <key>.cubin beside it, for this user alone. Many processes
/// may share the folder: files are renamed into place, the machine code before its entry.
class CubinCache {
 public:
  explicit CubinCache(std::filesystem::path folder) : folder_(std::move(folder)) {}

  /// Empty if there is no entry, if it cannot be read, or if its machine code is another one.
  std::optional<Compiled> find(const std::string& key) const;
  /// Stores the machine code and the entry; returns the compilation with its cubin_path.
  Result<Compiled> store(const std::string& key, Compiled compiled, std::string_view cubin) const;
  /// Removes the entries that were used longest ago until `limit` bytes are left. No process may
  /// rely on the machine code meanwhile.
  void prune(std::uint64_t limit) const;

 private:
  /// Path of a file below the folder.
  static std::filesystem::path name(const std::string& key, const char* extension);
  std::filesystem::path folder_;
};

/// Travels on the command line, so that a worker searches for nothing itself.
struct WorkerOptions {
  Toolchain toolchain;
  std::filesystem::path cache;     ///< machine code is stored here
  std::filesystem::path fallback;  ///< used if `cache` cannot be written; may be empty
};
void fields(WorkerOptions& x, FieldList& f);

/// Runs the hidden command `fatune compile-worker OPTIONS`, with WorkerOptions as JSON. Serves
/// requests on descriptor 3 until it closes. Returns the exit code.
int compile_worker_main(std::span<const std::string> args);

/// The first message of a worker: its compiler, or why it has none.
struct Greeting {
  std::string problem{};  ///< empty when it has one
  std::string path{}, version{}, identity{};
  std::vector<int> archs{};
};
void fields(Greeting& x, FieldList& f);

struct CompileOrder {
  std::string key;  ///< in the cache
  CompileRequest request;
};
void fields(CompileOrder& x, FieldList& f);

/// One reply to one order.
struct Reply {
  Compiled compiled;
  std::string cache_problem;  ///< why the cache was not written; the machine code is in `fallback`
  std::string failure;        ///< the machine code could be stored nowhere
};
void fields(Reply& x, FieldList& f);

/// True for a failure that is the machine's fault and not the request's; it has no log, or
/// lacks_memory() holds.
bool is_of_a_machine(const Compiled& compiled);
/// True if the compiler failed because no memory was left; alone it may succeed.
bool lacks_memory(const Compiled& compiled);

/// Stores a new compilation in the cache, or else in the fallback.
Reply stored_reply(const std::string& key, Compiled compiled, std::string_view cubin,
                   const WorkerOptions& options);

/// Why a compiler that knows `archs` cannot compile for the target; empty when it can.
std::string unsupported_arch(const Arch& arch, const std::string& version,
                             const std::vector<int>& archs);

/// Variables for kernels, their compiler, and the baselines that the device worker starts. A
/// program that needs more is started through `env`.
inline constexpr std::array<std::string_view, 46> kWorkerEnvironment = {
    // places and words
    "PATH", "HOME", "USER", "LOGNAME", "TERM", "LANG", "LANGUAGE", "LC_*", "TZ", "TMPDIR", "TMP",
    "TEMP", "XDG_CACHE_HOME", "XDG_DATA_HOME", "FATUNE_*",
    // the loader and the C library
    "LD_LIBRARY_PATH", "LD_PRELOAD", "GLIBC_TUNABLES", "MALLOC_*",
    // the driver and its libraries
    "CUDA*", "NVIDIA_*", "NVRTC_*", "CUDNN_*", "CUBLAS*", "CUTENSOR_*", "NCCL_*",
    // Python, PyTorch, and the compilers that their kernels are made by
    "PYTHON*", "VIRTUAL_ENV", "CONDA_PREFIX", "TORCH*", "PYTORCH_*", "TRITON_*", "FLASHINFER_*",
    "CUTLASS_*", "CUTE_*", "OMP_*", "MKL_*", "KMP_*", "CC", "CXX", "MAX_JOBS",
    // sanitizers and coverage
    "ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS", "TSAN_OPTIONS", "LLVM_PROFILE_FILE"};

}  // namespace fatune
