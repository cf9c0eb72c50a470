// known_config.hpp - a config that was best for some problem on some device, and who says so.
#pragma once

#include <string>

#include "record/record.hpp"
#include "space/limits.hpp"

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
