// program.hpp: Defines a decoded entry: instructions with handlers and register-file operands.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "ptx/syntax.hpp"

namespace fatune::ptx {

inline constexpr int kLanes = 32;
using Mask = std::uint32_t;  ///< a bit a lane
inline constexpr Mask kAllLanes = ~Mask{0};

/// An operand of all lanes. A register file has units of 32 words. A register of 32 bits or less
/// takes one unit, word l being lane l's. A register of 64 bits takes two, as 32 words of 64 bits.
/// A predicate takes one, whose first word is a mask.
struct Ref {
  std::int32_t slot = 0;    ///< unit; negative: ~slot is one of the program's constants
  std::int32_t offset = 0;  ///< added to what is read as an address
  std::uint8_t bits = 32;
  bool negated = false;  ///< of a predicate
  bool sink = false;     ///< `_`: what is written is lost
};

struct Turn;
/// The next step of a warp after an instruction. kBlock: it waits for a barrier; kYield: others may
/// have to act before it can go on.
enum class Step { kNext, kExit, kBlock, kYield, kFail };
using Handler = Step (*)(Turn&);

/// Which lanes must stand at the instruction before it is carried out: none but those that are
/// there, all that have not exited, or those of a member mask.
enum class Collective : std::uint8_t { kNone, kWarp, kMembers };

struct Instruction {
  Handler handler = nullptr;  ///< null: a branch to `target`
  const Ref* refs = nullptr;
  std::uint16_t count = 0;  ///< of refs
  Collective collective = Collective::kNone;
  std::uint8_t members = 0;  ///< which operand is the member mask
  bool guarded = false;
  Ref guard;
  std::uint32_t target = 0;
  std::uint64_t detail = 0;  ///< what else the opcode says, a small structure of the handler
  template <typename T>
  T detail_as() const {
    T value;
    std::memcpy(static_cast<void*>(&value), &detail, sizeof value);
    return value;
  }
};

/// A special register or the address of a variable: written to the register file when a warp
/// starts.
struct Preset {
  enum class Kind {
    kTid,
    kNtid,
    kCtaid,
    kNctaid,
    kLane,
    kWarp,
    kLaneMask,  ///< axis: 0 eq, 1 lt, 2 le, 3 gt, 4 ge
    kClusterId,
    kClusterCount,
    kClusterCta,
    kClusterSize,
    kClusterRank,
    kClusterRanks,
    kZero,  ///< the number of the multiprocessor
    kShared,
    kOther,  ///< an address that is the same everywhere
  };
  Kind kind = Kind::kOther;
  int axis = 0;
  std::uint64_t address = 0;
  Ref to;
};

struct Parameter {
  std::size_t offset = 0, bytes = 0;
};

struct Program {
  std::string name;
  std::vector<Instruction> instructions;
  std::vector<Statement> statements;
  std::deque<std::vector<Ref>> refs;  ///< what instructions point into
  std::vector<std::array<std::uint64_t, kLanes>> constants;
  std::vector<Preset> presets;
  std::vector<Parameter> parameters;
  std::size_t parameter_bytes = 0;
  std::size_t units = 0;  ///< of the register file
  /// Where dynamic shared memory begins in that of a CTA, and the local memory of a thread.
  std::size_t dynamic_shared = 0, local_bytes = 0;

  /// "line 12: add.s32"
  std::string place(std::size_t instruction) const;
};

/// Shared memory of a CTA begins here: the system has what is below, and 0 is no address.
inline constexpr std::uint64_t kSharedStart = 1024;
/// A CTA's shared memory within its cluster's: bits of an address above are its rank.
inline constexpr int kRankShift = 24;
inline constexpr std::uint64_t kSharedWindow = std::uint64_t{1} << 56;  ///< generic addresses
inline constexpr std::uint64_t kLocalWindow = std::uint64_t{2} << 56;
inline constexpr std::uint64_t kParamWindow = std::uint64_t{3} << 56;

/// `globals`: addresses of the module's variables by name. An instruction that is not known is an
/// error that names it.
Result<Program> decode(const EntrySyntax& entry, const ModuleSyntax& module,
                       const std::map<std::string, std::uint64_t>& globals);

}  // namespace fatune::ptx
