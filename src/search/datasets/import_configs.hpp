// import_configs.hpp - a recording's best configs to configs of a kernel, where they map.
#pragma once

#include <string>
#include <vector>

#include "model/kernel/manifest.hpp"
#include "search/datasets/recording.hpp"

namespace fatune {

struct ImportedConfigs {
  std::vector<Json> configs;  ///< of the kernel, best first, each once
  std::string note;           ///< what was taken and why the rest was not: "5 of 1011 configs"
};

/// At most `most` of the recording's measured configs. A config maps when each of its parameters is
/// one of the kernel's, by its name or a former one, with one of its values; a parameter of which
/// the recording has a single value may be unknown. The kernel's other parameters take their
/// defaults.
ImportedConfigs import_configs(const Recording& recording, const Manifest& manifest,
                               std::size_t most);

}  // namespace fatune
