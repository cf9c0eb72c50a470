// availability.hpp - which implementations from elsewhere this machine can run, and why not others.
#pragma once

#include <string>
#include <vector>

#include "baseline/settings.hpp"

namespace fatune {

struct Availability {
  std::string impl;  ///< "cudnn", "torch:*", "external:fa3"
  bool available = false;
  std::string found;   ///< version or place; else what is missing
  std::string remedy;  ///< empty when available
};

/// Looks for libraries and programs, and asks Python for PyTorch, which can take seconds. Makes no
/// GPU context in this process.
std::vector<Availability> availability(const OutsideOptions& options);

}  // namespace fatune
