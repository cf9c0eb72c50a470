// compile_messages.hpp - what the pool and its compile workers say to each other.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "core/fields_fwd.hpp"
#include "core/result.hpp"
#include "gpu/toolchain.hpp"
#include "worker/protocol/compiled.hpp"
#include "worker/protocol/request.hpp"

namespace fatune {

/// Handed over on the command line, so that a worker looks for nothing itself.
struct WorkerOptions {
  Toolchain toolchain;
  std::filesystem::path cache;     ///< where machine code goes
  std::filesystem::path fallback;  ///< where it goes when that cannot be written; may be empty
};
std::vector<std::string> to_arguments(const WorkerOptions& options);
Result<WorkerOptions> parse_worker_arguments(std::span<const std::string> args);

/// A worker's first message: which compiler it has, or why it has none.
struct Greeting {
  std::string problem;  ///< empty when it has one
  std::string path, version, identity;
  std::vector<int> archs;
};
void fields(Greeting& x, FieldList& f);

/// One reply to one request.
struct Reply {
  Compiled compiled;
  std::string cache_problem;  ///< why the cache was not written; the machine code is in `fallback`
  std::string failure;        ///< the machine code could be stored nowhere
};
void fields(Reply& x, FieldList& f);

/// Why a compiler that knows `archs` cannot compile for the target; empty when it can.
std::string unsupported_arch(const Arch& arch, const std::string& version,
                             const std::vector<int>& archs);

}  // namespace fatune
