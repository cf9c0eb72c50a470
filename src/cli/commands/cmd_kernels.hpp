// cmd_kernels.hpp - `fatune kernels`: what can be tuned; `kernels lint` checks manifests and
// templates, `kernels space` counts a T1 file's configs.
#pragma once

#include "cli/options/args.hpp"

namespace fatune::cli {
Runner setup_kernels(CLI::App& command);
}
