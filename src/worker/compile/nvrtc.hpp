// nvrtc.hpp: Compiles a request to machine code with NVRTC, the runtime compiler.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "gpu/library.hpp"
#include "worker/protocol/compilation.hpp"

namespace fatune {

/// An open NVRTC library. Only compile workers open one, because it may crash or hang, and its
/// threads do not scale.
class Nvrtc {
 public:
  /// Tries the toolchain's places in order. Compiles a line with the first library that opens, to
  /// test it and to learn its version. The error lists every place tried.
  static Result<Nvrtc> open(const Toolchain& toolchain);

  /// Path, version ("13.0.88", or "13.0" if the library tells no more), identity ("nvrtc 13.0.88
  /// CL-36424714"), and the compute capabilities that it compiles for: 75, 80, ...
  const Greeting& facts() const;
  /// The folders that it reads: the toolkit's headers, and the folder of the library.
  std::vector<std::filesystem::path> folders() const;
  /// Compiles to `cubin`, which is empty if the compilation failed. A submission is held to the
  /// limits of worker/compile/submitted.hpp.
  Compiled compile(const CompileRequest& request, std::string& cubin) const;
  /// Compiles to PTX for the request's architecture. A compilation that fails is an environment
  /// error with the whole log.
  Result<std::string> ptx(const CompileRequest& request) const;

 private:
  struct State;
  std::vector<std::string> flags_for(const CompileRequest& request) const;
  explicit Nvrtc(std::shared_ptr<const State> state);
  /// `ptx` is set for a submission.
  Compiled compile_freely(const CompileRequest& request, std::string& cubin,
                          std::string& ptx) const;
  std::shared_ptr<const State> state_;
};

/// The first line of a compiler's log that names an error; empty if none does.
std::string first_error(std::string_view log);

}  // namespace fatune
