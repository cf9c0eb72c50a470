// json_pieces.hpp - JSON text cut into its members and elements, without building it whole.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "core/json.hpp"
#include "core/result.hpp"

namespace fatune {

/// Walks over JSON text. For files that are large, repeat keys or end too early: the pieces before
/// the end are good. Refers to the text. Errors name the line.
class JsonPieces {
 public:
  JsonPieces(std::string_view text, std::string where);

  /// The next character that is no space; 0 at the end.
  char next();
  bool at_end() { return next() == 0; }
  /// Steps over the character if it is the next one.
  bool skip(char wanted);
  Status expect(char wanted);
  /// A member's name and the colon after it.
  Result<std::string> name();
  /// The text of the next value, brackets and all, unchecked but for them. One that does not end is
  /// an error that says so.
  Result<std::string_view> value();
  /// The next value. NaN and the infinities, which Python writes, become null.
  Result<Json> json();
  /// After a member or element: false when `closing` ends the list, true when another follows.
  Result<bool> another(char closing);
  /// "FILE: line 3: PROBLEM"
  Error error(const std::string& problem) const;

 private:
  std::size_t end_of_string(std::size_t begin) const;
  std::size_t end_of_brackets(std::size_t begin) const;
  std::string place(std::size_t position) const;

  std::string_view text_;
  std::string where_;
  std::size_t at_ = 0;
};

/// The value of a member of the object that `text` is; empty when there is none. What follows the
/// member may be missing.
Result<std::string_view> find_member(std::string_view text, std::string_view name,
                                     const std::string& where);
/// That value whole; an empty object when there is none.
Result<Json> find_object(std::string_view text, std::string_view name, const std::string& where);
/// Hands over each element of a member that is a list, and its place: "results[3]".
Status for_each_in(
    std::string_view text, std::string_view name, const std::string& where,
    const std::function<Status(const Json& element, const std::string& place)>& take);

}  // namespace fatune
