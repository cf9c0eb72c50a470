// known_config.cpp - fields of a known config.
#include "model/results/known_config.hpp"

#include "core/fields.hpp"

namespace fatune {

void fields(KnownConfig& x, FieldList& f) {
  f.record("known_config", "A config that was best for a problem");
  f("problem", x.problem).required();
  f("arch", x.arch).required();
  f("kernel", x.kernel).required();
  f("config", x.config).required().object().schema(kConfigSchema);
  f("source", x.source).required();
}

}  // namespace fatune
