// c_header.hpp - an exported kernel to one C header: machine code, load, launch, unload.
#pragma once

#include <string>

#include "out/export/exported_kernel.hpp"

namespace fatune {

/// C99 and C++, needs <cuda.h> and -lcuda alone. Declarations everywhere; the file that defines
/// NAME_IMPLEMENTATION before it includes the header gets the code.
std::string c_header(const ExportedKernel& kernel);

}  // namespace fatune
