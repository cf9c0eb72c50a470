// compilation.hpp - candidates to requests, messages of compile workers, and results; results on
// disk, found again by the key of their request.
#pragma once

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
  std::vector<std::string> macros;  ///< "BLOCK_M=128"
  Arch arch;
  bool toolkit_headers = false;
  bool submitted = false;  ///< by a stranger: held to limits, and looked at for state
};
CompileRequest compile_request(const Candidate& candidate, const DeviceLimits& limits,
                               const std::vector<std::string>& extra_macros = {});
/// What the compiler is told, include folders aside: language, target, reports, macros.
std::vector<std::string> compile_options(const CompileRequest& request);
/// SHA-256 over the request, the compiler's version and, with toolkit headers, theirs.
std::string cache_key(const CompileRequest& request, const std::string& compiler_identity);
/// What candidate_id() takes beside the candidate.
std::string id_options(const Arch& arch, const std::string& compiler_identity);
void fields(CompileRequest& x, FieldList& f);

struct Compiled {
  bool ok = false;
  std::string problem;                       ///< first error line, when not ok
  std::string log;                           ///< whole compiler log
  std::filesystem::path cubin_path;          ///< in the cache
  std::string cubin_hash;                    ///< SHA-256 of the machine code
  std::map<std::string, Resources> entries;  ///< by entry name, from the log
  double seconds = 0;                        ///< of the compiler; 0 on a cache hit
  bool from_cache = false;
  std::optional<std::size_t> process = {};           ///< that compiled it now, from 0
  std::chrono::steady_clock::time_point ended = {};  ///< when it was there
};
/// All but `process` and `ended`, which the process that waits for it sets.
void fields(Compiled& x, FieldList& f);

/// Registers, spills, stack frame, shared memory by entry, and the warnings worth keeping (C75xx,
/// spills, stack frame).
std::map<std::string, Resources> parse_compile_log(std::string_view log);

/// A folder <2 hex digits>/<key>.json with <key>.cubin beside it. Many processes may share it:
/// files are written aside and renamed, and the machine code is there before the entry that names
/// it.
class CubinCache {
 public:
  explicit CubinCache(std::filesystem::path folder) : folder_(std::move(folder)) {}

  /// No value when there is no entry, or it cannot be read, or its machine code is not the one it
  /// names.
  std::optional<Compiled> find(const std::string& key) const;
  /// Stores the machine code and the entry; returns the compilation with its cubin_path.
  Result<Compiled> store(const std::string& key, Compiled compiled, std::string_view cubin) const;
  /// Of more than `limit` bytes, removes what was found or stored longest ago. No process may rely
  /// on the machine code meanwhile.
  void prune(std::uint64_t limit) const;

 private:
  std::filesystem::path file(const std::string& key, const char* extension) const;
  std::filesystem::path folder_;
};

/// Handed over on the command line, so that a worker looks for nothing itself.
struct WorkerOptions {
  Toolchain toolchain;
  std::filesystem::path cache;     ///< where machine code goes
  std::filesystem::path fallback;  ///< where it goes when that cannot be written; may be empty
};
void fields(WorkerOptions& x, FieldList& f);

/// Body of the hidden `fatune compile-worker OPTIONS` command, with WorkerOptions as JSON: serves
/// requests on descriptor 3 until it closes. Returns the exit code.
int compile_worker_main(std::span<const std::string> args);

/// A worker's first message: which compiler it has, or why it has none.
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

/// A failure without a log is about a machine, not about the request: not to be remembered.
bool is_of_a_machine(const Compiled& compiled);

/// Of a compilation that was made now: stored in the cache, else in the fallback.
Reply stored_reply(const std::string& key, Compiled compiled, std::string_view cubin,
                   const WorkerOptions& options);

/// Why a compiler that knows `archs` cannot compile for the target; empty when it can.
std::string unsupported_arch(const Arch& arch, const std::string& version,
                             const std::vector<int>& archs);

}  // namespace fatune
