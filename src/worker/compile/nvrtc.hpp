// nvrtc.hpp - the runtime compiler: a request to machine code, or to the log that says why not.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "gpu/library.hpp"
#include "worker/protocol/compilation.hpp"

namespace fatune {

/// What one compilation gave.
struct CompilerOutput {
  bool ok = false;
  std::string problem;  ///< first error line, when not ok
  std::string log;
  std::string cubin;
};

/// An open NVRTC library. Only compile workers open one: it may crash or hang, and its threads do
/// not scale.
class Nvrtc {
 public:
  /// Tries the toolchain's places in order and compiles a line with the one that opens, to know
  /// that it works and which it is. The error lists every place tried.
  static Result<Nvrtc> open(const Toolchain& toolchain);

  const std::string& path() const;
  const std::string& version() const;     ///< "13.0.88", or "13.0" when it does not tell more
  const std::string& identity() const;    ///< "nvrtc 13.0.88 CL-36424714"
  const std::vector<int>& archs() const;  ///< compute capabilities it compiles for: 75, 80, ...

  CompilerOutput compile(const CompileRequest& request) const;

 private:
  struct State;
  explicit Nvrtc(std::shared_ptr<const State> state);
  std::shared_ptr<const State> state_;
};

/// The first line of a failed compilation's log that says what is wrong; empty when none does.
std::string first_error(std::string_view log);
}  // namespace fatune
