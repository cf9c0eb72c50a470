// known_config.hpp - a config that was best for some problem on some device, and its source.
#pragma once

#include <string>

#include "model/kernel/limits.hpp"
#include "model/results/record.hpp"

namespace fatune {

struct KnownConfig {
  Problem problem;
  Arch arch;
  std::string kernel;
  Json config = Json::object();
  std::string source;  ///< a file, or the run that measured it
};

void fields(KnownConfig& x, FieldList& f);

}  // namespace fatune
