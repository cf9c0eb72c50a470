// tokens.hpp: Splits PTX text into words and punctuation with their line numbers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fatune::ptx {

struct Token {
  std::string text;  ///< "%r1", "L2::128B", "0f3F800000", "{"; a quoted text with its quotes
  std::uint32_t line = 0;
};

/// Without comments.
std::vector<Token> tokens_of(std::string_view text);

}  // namespace fatune::ptx
