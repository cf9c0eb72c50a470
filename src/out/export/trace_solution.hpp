// trace_solution.hpp - the source files of a kernel as a Solution of FlashInfer-Trace.
#pragma once

#include <vector>

#include "model/kernel/kernel.hpp"
#include "out/export/exported_kernel.hpp"

namespace fatune {

/// main.cu, which binds run(q, k, v, out) to TVM-FFI; NAME.h, the machine code and its launch as
/// `--to header` writes them; NAME.cuh, the text that the machine code is of, to be read. The
/// builder compiles for an architecture of its own choice, without the features of, say, sm_90a:
/// hence machine code.
std::vector<SourceFile> trace_sources(const ExportedKernel& kernel);

}  // namespace fatune
