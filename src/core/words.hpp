// words.hpp: Parses a word of an enum whose name() gives the words.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/result.hpp"

namespace fatune {

/// Returns a usage error that lists the words if `text` is none of `all`.
template <typename T>
Result<T> parse_word(std::string_view text, std::span<const T> all) {
  std::string words;
  for (const T& each : all) {
    if (text == name(each)) return each;
    words.append(words.empty() ? "" : ", ").append(name(each));
  }
  return usage_error("'" + std::string(text) + "' is not one of " + words);
}

}  // namespace fatune
