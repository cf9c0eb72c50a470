// census.hpp - a cubin to its machine code as text, by a disassembler; the text to lines, and to
// counts of the instructions that tell kernels apart.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/fields_fwd.hpp"
#include "core/result.hpp"

namespace fatune {

/// A class of instructions; each instruction belongs to at most one.
struct InstructionClass {
  std::string_view key;   ///< in our JSON: "shared_load_128"
  std::string_view what;  ///< for people
};
std::span<const InstructionClass> instruction_classes();

/// Of one entry; static counts, not what ran.
struct Census {
  std::string entry;
  std::int64_t instructions = 0;     ///< without the padding behind the end
  std::vector<std::int64_t> counts;  ///< in the order of instruction_classes()
  std::int64_t count(std::string_view key) const;

  friend bool operator==(const Census&, const Census&) = default;
};
void fields(Census& x, FieldList& f);

/// Reads what `nvdisasm -c` or `cuobjdump -sass` prints.
std::vector<Census> parse_sass(std::string_view text);
/// The same to one line an instruction, "@!P0 LDG.E R0, desc[UR4][R2.64]", without addresses and
/// padding; entries and labels end in a colon.
std::vector<std::string> sass_lines(std::string_view text);

/// Programs that can do it, best first, and where they come from.
std::vector<std::string> disassemblers();
std::string disassembler_remedy();
/// `tool`: one of them. One that fails, or prints no function, is an environment error with its
/// last line.
Result<std::string> disassemble(const std::filesystem::path& tool,
                                const std::filesystem::path& cubin);

}  // namespace fatune
