// state.hpp - PTX and machine code of a submission to what would let one launch know of another.
#pragma once

#include <string>
#include <string_view>

namespace fatune {

/// "state: ...", a sentence with the name of what was found; empty when there is nothing: variables
/// in global memory that an instruction names, calls of the driver's functions (heap, printf,
/// launches), calls through a pointer, registers that tell time, place or number of a launch.
/// Machine code that cannot be read is a finding, too. Scratch memory that a manifest declares is
/// none: gates look at what becomes of it.
std::string state_finding(std::string_view ptx, std::string_view cubin);

}  // namespace fatune
