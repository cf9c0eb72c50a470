// formats.hpp: Declares the readers of tuning results and what they share; private to datasets/.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/json.hpp"
#include "core/result.hpp"
#include "search/datasets/recording.hpp"

namespace fatune {

/// Walks over JSON text that may be large, repeat keys or end too early; the pieces before the end
/// are good. The text must outlive it. Errors name the line.
class JsonPieces {
 public:
  JsonPieces(std::string_view text, std::string where);

  /// Returns the next character that is not white space; 0 at the end.
  char next();
  bool at_end() { return next() == 0; }
  /// Skips the next character if it is `wanted`.
  bool skip(char wanted);
  Status expect(char wanted);
  /// Reads a member's name and its colon.
  Result<std::string> name();
  /// Returns the text of the next value; only its brackets are checked. A truncated value is an
  /// error.
  Result<std::string_view> value();
  /// Parses the next value. NaN and the infinities, which Python writes, become null.
  Result<Json> json();
  /// Steps over the separator: false when `closing` ends the list, true when another item follows.
  Result<bool> another(char closing);
  /// Makes an error "FILE: line 3: PROBLEM".
  Error error(const std::string& problem) const;

 private:
  std::size_t end_of_string(std::size_t begin) const;
  std::size_t end_of_brackets(std::size_t begin) const;
  std::string place(std::size_t position) const;

  std::string_view text_;
  std::string where_;
  std::size_t at_ = 0;
};

/// Returns the value of a member of the object `text`; empty when it has no such member. The text
/// may end after the member.
Result<std::string_view> find_member(std::string_view text, std::string_view name,
                                     const std::string& where);
/// Returns the parsed member; an empty object when there is none.
Result<Json> find_object(std::string_view text, std::string_view name, const std::string& where);
/// Calls back for each element of a list member with the element and its place: "results[3]".
Status for_each_in(
    std::string_view text, std::string_view name, const std::string& where,
    const std::function<Status(const Json& element, const std::string& place)>& take);

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
  std::vector<Value> declared{};  ///< values the axis may take; empty: those that configs have
  std::unordered_map<std::string, Value> printed{};  ///< the declared by their text in Python
};

/// Fails for more than 256 parameters, as many as a config in JSON may have.
Status check_parameters(std::size_t count, const std::string& where);

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

enum class Better { kUnknown, kLess, kMore };
/// Tells by the name or the unit of an objective. Rates are known in any spelling.
Better better_of(std::string_view objective);
bool is_time(std::string_view objective);  ///< "time", "time_ms"
/// Reads an objective, or a list of them as Kernel Tuner writes since 1.4; "time" if there is none.
Result<std::vector<std::string>> read_objectives(const Fields& fields, const char* key);
/// The first objective counts; a remark names the others.
void take_first(const std::vector<std::string>& objectives, Recording& recording);
/// Kernel Tuner up to 0.4.0 wrote this time for configs that failed.
inline constexpr double kNoTime = 1e20;
/// Converts the entries' values to costs. Values that are not finite, times that are not positive
/// and times from kNoTime on become failures; the remarks count them.
Status settle_costs(Recording& recording);

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
