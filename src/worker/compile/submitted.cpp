// submitted.cpp: Limits a submission's compiler, machine code and log.
#include "worker/compile/submitted.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "core/text.hpp"
#include "worker/compile/state.hpp"

namespace fatune {
namespace {

/// Empty if the machine code may run.
std::string refusal(std::string_view ptx, std::string_view cubin) {
  if (cubin.size() > kMostMachineCode) {
    return fmt::format("the compiler gave {} of machine code, more than {}",
                       describe(Bytes(cubin.size())), describe(Bytes(kMostMachineCode)));
  }
  return state_finding(ptx, cubin);
}

}  // namespace

CompilerMemoryLimit::CompilerMemoryLimit() {
  ::getrlimit(RLIMIT_AS, &before_);
#ifndef __SANITIZE_ADDRESS__
  rlimit limited = before_;
  limited.rlim_cur = std::min<rlim_t>(before_.rlim_cur, kMostCompilerMemory);
  ::setrlimit(RLIMIT_AS, &limited);
#endif
}

CompilerMemoryLimit::~CompilerMemoryLimit() { ::setrlimit(RLIMIT_AS, &before_); }

std::string as_ascii(std::string_view text, std::size_t longest) {
  std::string ascii;
  for (const char c : text.substr(0, longest)) {
    const bool plain = (c >= ' ' && c <= '~') || c == '\n';
    ascii += plain ? std::string(1, c) : fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  }
  if (text.size() > longest) ascii += fmt::format(" ... and {} bytes", text.size() - longest);
  return ascii;
}

void settle_submission(std::string_view ptx, Compiled& compiled, std::string& cubin) {
  if (compiled.ok) {
    compiled.problem = refusal(ptx, cubin);
    compiled.ok = compiled.problem.empty();
  }
  if (!compiled.ok) {
    compiled.cubin_hash.clear();
    cubin.clear();
  }
  compiled.log = as_ascii(compiled.log, kLongestLog);
  compiled.problem = as_ascii(compiled.problem, kLongestProblem);
  for (auto& [entry, resources] : compiled.entries) {
    for (std::string& warning : resources.warnings) warning = as_ascii(warning, kLongestProblem);
  }
}

}  // namespace fatune
