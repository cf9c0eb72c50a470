// submitted.hpp - what the compilation of a stranger's text may take, and what it may give back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <sys/resource.h>

#include "worker/protocol/compilation.hpp"

namespace fatune {

// Chosen, well above what our own templates take: 1 GiB of memory, 1 MiB of machine code, 20 KiB of
// log, lines of 200 characters.
inline constexpr std::uint64_t kMostCompilerMemory = std::uint64_t{8} << 30;
inline constexpr std::size_t kMostMachineCode = std::size_t{64} << 20;
inline constexpr std::size_t kLongestLog = std::size_t{64} << 10;
inline constexpr std::size_t kLongestProblem = 1'000;

/// While it lives, this process has kMostCompilerMemory of addresses; a compiler that wants more
/// fails or dies. No limit where a sanitizer has reserved more already.
class CompilerMemoryLimit {
 public:
  CompilerMemoryLimit();
  CompilerMemoryLimit(const CompilerMemoryLimit&) = delete;
  CompilerMemoryLimit& operator=(const CompilerMemoryLimit&) = delete;
  ~CompilerMemoryLimit();

 private:
  rlimit before_{};
};

/// At most `longest` bytes of it, in ASCII: all else but the ends of lines stands as \x1b, and an
/// end says how much is left out.
std::string as_ascii(std::string_view text, std::size_t longest);

/// Refuses machine code that is too long or could keep something (worker/compile/state.hpp), which
/// empties `cubin`; cuts log and problem short, and puts both into ASCII.
void settle_submission(std::string_view ptx, Compiled& compiled, std::string& cubin);

}  // namespace fatune
