// availability.hpp - which implementations from elsewhere this machine can run, and why not others.
#pragma once

#include <vector>

#include "worker/protocol/implementation.hpp"

namespace fatune {

/// Looks for libraries and programs, and asks Python for PyTorch, which can take seconds. Makes no
/// GPU context in this process.
std::vector<Availability> availability(const OutsideOptions& options);

}  // namespace fatune
