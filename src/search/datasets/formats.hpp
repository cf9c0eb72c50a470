// formats.hpp: Declares a reader for each format of tuning results; private to datasets/.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.hpp"
#include "core/result.hpp"
#include "search/datasets/recording.hpp"

namespace fatune {

/// Reads a Kernel Tuner cache file, closed or not. Failures may have the old form ("time":
/// "...FailedConfig") or the new one ("__error__"). Parameters may stand in the entries or only in
/// their keys.
Result<Recording> read_kernel_tuner(std::string_view text, const std::string& where);
/// Reads T4 results 1.0.0, in the spelling of the schema or of published files.
Result<Recording> read_t4(std::string_view text, const std::string& where);
/// Reads results of the Kernel Tuning Toolkit, one recording per kernel.
Result<std::vector<Recording>> read_ktt(std::string_view text, const std::string& where);
/// Reads a journal, one recording per kernel and problem.
Result<std::vector<Recording>> read_journal(std::string_view text, const std::string& where);

struct ListedConfig {
  std::vector<Value> values;  ///< one for each axis
  RecordedEntry entry;        ///< cost as in the file; without cost and failure: unusable
  std::string place;          ///< for messages: "key '16,2'", "results[3]"
};

struct ListedAxis {
  std::string name;
  std::vector<Value> declared;  ///< values the axis may take; empty: the values that configs have
};

/// Converts a parameter's value. Whole numbers are numbers in any notation. A fraction is a word
/// that reads as a number; null, lists and objects are words.
Value value_from_json(const Json& json);
/// Converts a value that Python printed: "16", "0.5", "True", "warp".
Value value_from_python(std::string_view text);
std::string python_text(const Value& value);
/// Returns the number, also of a word that reads as one.
std::optional<double> numeric(const Value& value);
inline bool is_numeric(const Value& value) { return numeric(value).has_value(); }

/// Returns the member if it is a number.
std::optional<double> number_at(const Json& object, const std::string& name);
/// Returns the mean of a member that lists numbers, or pairs that end in a number (HIP files).
std::optional<double> mean_at(const Json& object, const std::string& name);

/// Fills axes, lattice and entries, and turns objectives of which more is better. `recording` has
/// the other members. The last of repeated configs counts. A value outside the declared ones and a
/// file without configs are errors.
Result<Recording> assemble(Recording recording, std::vector<ListedAxis> axes,
                           std::vector<ListedConfig> configs);

/// Returns "ms" for "milliseconds" or "miliseconds" (as some files spell it), and so on; an unknown
/// unit is returned unchanged.
std::string_view short_unit(std::string_view unit);
/// Returns the seconds of a unit of time, long or short; 0 for other units.
double seconds_per(std::string_view unit);

}  // namespace fatune
