// words.hpp: Parses a word of an enum whose name() gives the words.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/result.hpp"

namespace fatune {

/// Returns a usage error that lists the words if `text` is none of `all`. `what` names what has the
/// word, such as "mask"; it may be empty.
template <typename T>
Result<T> parse_word(std::string_view text, std::span<const T> all, std::string_view what = "") {
  std::string words;
  for (const T& each : all) {
    if (text == name(each)) return each;
    words.append(words.empty() ? "" : ", ").append(name(each));
  }
  const std::string quoted = "'" + std::string(text) + "' is ";
  if (what.empty()) return usage_error(quoted + "not one of " + words);
  return usage_error(std::string(what) + " " + quoted + "unknown; known are " + words);
}

}  // namespace fatune
