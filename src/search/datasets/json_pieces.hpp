// json_pieces.hpp: Splits JSON text into members and elements without building the whole value.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "core/json.hpp"
#include "core/result.hpp"

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

}  // namespace fatune
