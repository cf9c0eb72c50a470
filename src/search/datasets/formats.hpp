// formats.hpp - one reader for each format of tuning results; private to recording/.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "search/datasets/recording.hpp"

namespace fatune {

/// Kernel Tuner's cache file: closed or not, failures in the old form ("time": "...FailedConfig")
/// or the new one ("__error__"), parameters in the entries or only in their keys.
Result<Recording> read_kernel_tuner(std::string_view text, const std::string& where);
/// T4 results 1.0.0, in the spelling of its schema or of the files there are.
Result<Recording> read_t4(std::string_view text, const std::string& where);
/// Results of the Kernel Tuning Toolkit; one recording for each kernel.
Result<std::vector<Recording>> read_ktt(std::string_view text, const std::string& where);
/// A journal; one recording for each kernel and problem.
Result<std::vector<Recording>> read_journal(std::string_view text, const std::string& where);

}  // namespace fatune
