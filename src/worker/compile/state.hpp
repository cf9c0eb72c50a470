// state.hpp: Finds state in a submission by which one launch could know of another.
#pragma once

#include <string>
#include <string_view>

namespace fatune {

/// "state: " and a sentence that names the finding; empty if there is none. It finds variables in
/// global memory that an instruction names, calls of the driver's functions (heap, printf,
/// launches), and calls through a pointer. It also finds reads of registers that tell time, place
/// or number of a launch, and machine code that cannot be read. Scratch memory that a manifest
/// declares is allowed: gates check it.
std::string state_finding(std::string_view ptx, std::string_view cubin);

}  // namespace fatune
