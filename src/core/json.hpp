// json.hpp: Declares JSON values and typed fields whose errors name file and path.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/result.hpp"

namespace fatune {

/// Key order is kept, so that files diff well.
using Json = nlohmann::ordered_json;

/// `where` (a file name, "line 12 of x") goes in front of errors. Values are copied, compared and
/// written by recursion, so text that is nested deeper than 128 levels is refused. So is text of
/// more than 4,000,000 values, or with an object of more than 256 keys (searched one by one).
Result<Json> parse_json(std::string_view text, const std::string& where);
/// For a large file whose lines are parsed each by itself: fails when it holds more than 12,000,000
/// values, commas and brackets counted, which would take seconds.
Status check_values(std::string_view text, const std::string& where);
Result<Json> load_json(const std::filesystem::path& path);
/// Fails when an object of the text has a key twice, of which parse_json takes the last.
Status refuse_repeated_keys(std::string_view text, const std::string& where);
std::string dump(const Json& value);         ///< one line
std::string dump_pretty(const Json& value);  ///< indented by 2, newline at the end

/// "x.json" and "a" give "x.json: field 'a'"; that and "b[2]" give "x.json: field 'a.b[2]'".
std::string field_place(const std::string& where, std::string_view key);

/// "must be a string, but is number"
std::string wrong_type(std::string_view wanted, const Json& found);
/// Describes a key that is none of the known ones, and names the nearest known key.
std::string unknown_key(const std::string& key, const std::vector<std::string>& known);

/// A JSON object being read by hand: typed fields, errors as "where: field 'a.b[2]' ...". Does not
/// own the value.
class Fields {
 public:
  Fields(const Json& object, std::string where);

  bool has(std::string_view key) const;
  Result<std::string> text(std::string_view key) const;
  Result<std::string> text_or(std::string_view key, std::string fallback) const;
  Result<std::int64_t> integer(std::string_view key) const;
  Result<double> number(std::string_view key) const;
  Result<bool> boolean_or(std::string_view key, bool fallback) const;
  Result<std::vector<std::string>> texts_or(std::string_view key,
                                            std::vector<std::string> fallback) const;
  Result<Fields> object(std::string_view key) const;  ///< required
  Result<std::vector<Fields>> objects_or_empty(std::string_view key) const;
  Result<const Json*> value(std::string_view key) const;  ///< any type, required
  Error error(std::string_view key, const std::string& problem) const;
  const std::string& where() const { return where_; }
  const Json& json() const { return *object_; }

 private:
  Status require_object() const;

  const Json* object_;
  std::string where_;
};

}  // namespace fatune
