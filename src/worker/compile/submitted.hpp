// submitted.hpp: Limits a submission's compilation, and finds state in its machine code.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <sys/resource.h>

#include "worker/protocol/compilation.hpp"

namespace fatune {

// Chosen, well above the needs of our own templates: 1 GiB of memory, 1 MiB of machine code, 20 KiB
// of log, lines of 200 characters.
inline constexpr std::uint64_t kMostCompilerMemory = std::uint64_t{8} << 30;
inline constexpr std::size_t kMostMachineCode = std::size_t{64} << 20;
inline constexpr std::size_t kLongestLog = std::size_t{64} << 10;
inline constexpr std::size_t kLongestProblem = 1'000;

/// Limits the process to kMostCompilerMemory of addresses while it lives. A compiler that wants
/// more fails or dies. There is no limit under a sanitizer, which has reserved more already.
class CompilerMemoryLimit {
 public:
  CompilerMemoryLimit();
  CompilerMemoryLimit(const CompilerMemoryLimit&) = delete;
  CompilerMemoryLimit& operator=(const CompilerMemoryLimit&) = delete;
  ~CompilerMemoryLimit();

 private:
  rlimit before_{};
};

/// At most `longest` bytes of the text in ASCII. Other bytes become \x1b and the like, except ends
/// of lines. The end says how much was cut.
std::string as_ascii(std::string_view text, std::size_t longest);

/// Refuses machine code that is too long or could keep state (state_finding()), and then
/// empties `cubin`. Cuts log and problem short, and makes both ASCII.
void settle_submission(std::string_view ptx, Compiled& compiled, std::string& cubin);

/// "state: " and a sentence that names the finding; empty if there is none. It finds variables in
/// global memory that an instruction names, calls of the driver's functions (heap, printf,
/// launches), and calls through a pointer. It also finds reads of registers that tell time, place
/// or number of a launch, and machine code that cannot be read. Scratch memory that a manifest
/// declares is allowed: gates check it.
std::string state_finding(std::string_view ptx, std::string_view cubin);

}  // namespace fatune
