// formats.hpp - a reader for each format of tuning results; private to datasets/.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.hpp"
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

struct ListedConfig {
  std::vector<Value> values;  ///< one for each axis
  RecordedEntry entry;        ///< cost: the value as the file has it; none and no failure: unusable
  std::string place;          ///< for messages: "key '16,2'", "results[3]"
};

struct ListedAxis {
  std::string name;
  std::vector<Value> declared;  ///< what the axis may take; empty: what the configs take
};

/// A parameter's value. Whole numbers are numbers however they are written; a fraction is a word
/// that reads as a number, null, lists and objects are words.
Value value_from_json(const Json& json);
/// The same of Python's text of it: "16", "0.5", "True", "warp".
Value value_from_python(std::string_view text);
std::string python_text(const Value& value);
/// Of a number, or of a word that reads as one.
std::optional<double> numeric(const Value& value);
inline bool is_numeric(const Value& value) { return numeric(value).has_value(); }

/// The member, where it is a number.
std::optional<double> number_at(const Json& object, const std::string& name);
/// The mean of the member, a list of numbers or of pairs that end in one, as HIP files have them.
std::optional<double> mean_at(const Json& object, const std::string& name);

/// Fills axes, lattice and entries, and turns objectives of which more is better. `recording` has
/// all else. Of a config listed twice the later counts; a value outside those declared is an error,
/// and so is a file without any config.
Result<Recording> assemble(Recording recording, std::vector<ListedAxis> axes,
                           std::vector<ListedConfig> configs);

/// "ms" of "milliseconds", "Microseconds", "miliseconds" (as some files spell it) and so on; an
/// unknown word as it is.
std::string_view short_unit(std::string_view unit);
/// Of a unit of time, short or long; 0 for anything else.
double seconds_per(std::string_view unit);

}  // namespace fatune
