// tokens.cpp: Splits PTX at spaces and punctuation; "::" belongs to a word.
#include "ptx/tokens.hpp"

#include <algorithm>
#include <cctype>

namespace fatune::ptx {
namespace {

bool in_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$' || c == '%' ||
         c == '.';
}

std::size_t end_of_word(std::string_view text, std::size_t at) {
  while (at < text.size()) {
    if (in_word(text[at])) {
      ++at;
    } else if (text.substr(at, 2) == "::") {
      at += 2;
    } else {
      break;
    }
  }
  return at;
}

/// Returns the end of the comment or quoted text that begins at `at`; `at` if there is none.
std::size_t end_of_aside(std::string_view text, std::size_t at) {
  const std::string_view two = text.substr(at, 2);
  if (two == "//") return std::min(text.find('\n', at), text.size());
  if (two == "/*") return std::min(text.find("*/", at), text.size() - 2) + 2;
  return at;
}

}  // namespace

std::vector<Token> tokens_of(std::string_view text) {
  std::vector<Token> tokens;
  std::uint32_t line = 1;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t aside = end_of_aside(text, at);
    if (aside > at) {
      line += static_cast<std::uint32_t>(std::count(text.begin() + at, text.begin() + aside, '\n'));
      at = aside;
      continue;
    }
    const char c = text[at];
    if (std::isspace(static_cast<unsigned char>(c)) != 0) {
      line += c == '\n' ? 1 : 0;
      ++at;
      continue;
    }
    std::size_t end = at + 1;
    if (c == '"') {
      end = std::min(text.find('"', end), text.size() - 1) + 1;
    } else if (in_word(c)) {
      end = end_of_word(text, at);
    }
    tokens.push_back({std::string(text.substr(at, end - at)), line});
    at = end;
  }
  return tokens;
}

}  // namespace fatune::ptx
