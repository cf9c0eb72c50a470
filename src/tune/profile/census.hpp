// census.hpp: Disassembles a cubin, and counts the instructions that tell kernels apart.
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
  std::string_view key;   ///< key in our JSON: "shared_load_128"
  std::string_view what;  ///< description for people
};
std::span<const InstructionClass> instruction_classes();

/// Static instruction counts of one entry.
struct Census {
  std::string entry;
  std::int64_t instructions = 0;     ///< without the padding after the end
  std::vector<std::int64_t> counts;  ///< in the order of instruction_classes()
  std::int64_t count(std::string_view key) const;

  friend bool operator==(const Census&, const Census&) = default;
};
void fields(Census& x, FieldList& f);

/// Parses the output of `nvdisasm -c` or `cuobjdump -sass`.
std::vector<Census> parse_sass(std::string_view text);
/// Returns one line per instruction, such as "@!P0 LDG.E R0, desc[UR4][R2.64]", without addresses
/// and padding. Entries and labels end in a colon.
std::vector<std::string> sass_lines(std::string_view text);

/// Names of suitable disassemblers, best first.
std::vector<std::string> disassemblers();
std::string disassembler_remedy();
/// Runs `tool`, one of disassemblers(). A tool that fails or prints no function is an environment
/// error with its last line.
Result<std::string> disassemble(const std::filesystem::path& tool,
                                const std::filesystem::path& cubin);

}  // namespace fatune
