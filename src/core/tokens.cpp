// tokens.cpp: Splits expressions into tokens.
#include "core/tokens.hpp"

#include <algorithm>
#include <array>

namespace fatune {

bool starts_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool in_word(char c) { return starts_name(c) || (c >= '0' && c <= '9') || c == '.'; }

bool is_arithmetic(std::string_view token) {
  return token == "+" || token == "-" || token == "*" || token == "/";
}

/// Returns the end of a name, which may have dots, or a number: "16", ".5", "2e-3".
static std::size_t end_of_word(std::string_view text, std::size_t at) {
  const bool number = !starts_name(text[at]);
  while (++at < text.size()) {
    const bool exponent = number && (text[at - 1] == 'e' || text[at - 1] == 'E');
    if (!in_word(text[at]) && !(exponent && (text[at] == '+' || text[at] == '-'))) break;
  }
  return at;
}

std::vector<std::string_view> tokens_of(std::string_view text, Syntax syntax) {
  static constexpr std::array<std::string_view, 10> kPairs = {"==", "!=", "<=", ">=", "&&",
                                                              "||", "//", "**", "<<", ">>"};
  const bool python = syntax == Syntax::kPython;
  std::vector<std::string_view> tokens;
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    std::size_t end = at + 1;
    if (in_word(c)) {
      end = end_of_word(text, at);
    } else if ((static_cast<unsigned char>(c) & 0x80U) != 0) {
      while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) ++end;
    } else if (python && (c == '\'' || c == '"')) {
      end = std::min(text.find(c, end), text.size() - 1) + 1;
    } else if (std::find(kPairs.begin(), kPairs.end(), text.substr(at, 2)) != kPairs.end()) {
      end = at + 2;
    }
    const bool blank = c == ' ' || (python && (c == '\t' || c == '\r' || c == '\n'));
    if (!blank) tokens.push_back(text.substr(at, end - at));
    at = end;
  }
  return tokens;
}

}  // namespace fatune
