// disassemble.hpp - a cubin to a census of its instructions, by NVIDIA's disassembler.
#pragma once

#include <filesystem>
#include <vector>

#include "core/result.hpp"
#include "tune/profile/census.hpp"

namespace fatune {

/// Programs that can do it, best first, and where they come from.
std::vector<std::string> disassemblers();
std::string disassembler_remedy();
/// `tool`: one of them. One that fails, or prints no function, is an environment error with its
/// last line.
Result<std::vector<Census>> take_census(const std::filesystem::path& tool,
                                        const std::filesystem::path& cubin);

}  // namespace fatune
