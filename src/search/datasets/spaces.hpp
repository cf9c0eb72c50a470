// spaces.hpp: Maps a recording's configs to the space of a T1 file or of a fatune kernel.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "model/kernel/manifest.hpp"
#include "model/space/space.hpp"
#include "search/datasets/recording.hpp"

namespace fatune {

/// Parses "[16, 0.5, 'word', True]" or "range(1, 9)", also as list(range(...)). Fractions become
/// words that read as numbers.
Result<std::vector<Value>> list_from_python(std::string_view text, const std::string& where);

/// Reads the parameters and constraints of a T1 file; the rest of the manifest is a stand-in.
Result<Manifest> read_t1_manifest(const Json& json, const std::string& where);

/// Reads TuningParameters and Conditions and ignores the rest of the file. A condition may use
/// parameters with whole numbers or truth values; any other condition is an error that quotes it.
Result<Space> read_t1_space(const std::filesystem::path& path);

/// Keeps the configs that are valid in the space, which must have the recording's parameters. The
/// remarks count the configs of each side that the other lacks; no common config is an error.
Result<Recording> restrict_to(const Recording& recording, const Space& space);

struct ImportedConfigs {
  std::vector<Json> configs;  ///< configs of the kernel, best first, without repeats
  std::string note;  ///< how many configs were taken and why others were not: "5 of 1011 configs"
};

/// Imports at most `most` measured configs. Each parameter of a config must be one of the kernel's,
/// with one of its values. A parameter with a single recorded value may be unknown. The kernel's
/// other parameters take their defaults.
ImportedConfigs import_configs(const Recording& recording, const Manifest& manifest,
                               std::size_t most);

}  // namespace fatune
