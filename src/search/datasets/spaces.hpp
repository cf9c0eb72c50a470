// spaces.hpp - a recording's configs in another space: that of a T1 file, or of a kernel of ours.
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

/// "[16, 0.5, 'word', True]" or "range(1, 9)", also as list(range(...)). Fractions are words that
/// read as numbers.
Result<std::vector<Value>> list_from_python(std::string_view text, const std::string& where);

/// TuningParameters and Conditions; the rest of the file, what to run and how, is not read. A
/// condition may use parameters whose values are whole numbers or truth values; one that does not
/// map is an error that quotes it.
Result<Space> read_t1_space(const std::filesystem::path& path);

/// The recording's configs that are valid in the space, which must have the same parameters. The
/// remarks say how many of either the other lacks; none in common is an error.
Result<Recording> restrict_to(const Recording& recording, const Space& space);

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
