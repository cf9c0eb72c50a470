// write_kernel_tuner.hpp - a journal's candidates to a cache file that Kernel Tuner reads.
#pragma once

#include <string>

#include "core/result.hpp"
#include "search/datasets/journal_groups.hpp"

namespace fatune {

/// As Kernel Tuner closes its own: it can simulate on the file. Times in milliseconds. It knows no
/// timeout and no wrong result: they are RuntimeFailedConfig, and fatune_failure has the outcome.
Result<std::string> kernel_tuner_cache(const JournalGroup& group, const Journal& journal);

}  // namespace fatune
