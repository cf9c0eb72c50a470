// tokens.hpp: Splits expressions into tokens, and walks over these for their parsers.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace fatune {

/// Of an expression. `kManifest`: kernels/README.md lists operators and functions. `kPython`: and,
/// or, not, chained comparisons, in, + - * / ** << >>, // and % that round down, min, max, int,
/// float, abs, round, True, False, a if b else c. A text has at most 64 KB.
enum class Syntax { kManifest, kPython };

bool starts_name(char c);  ///< a letter or _
bool in_word(char c);      ///< tells whether the character may continue a name or a number
bool is_arithmetic(std::string_view token);  ///< + - * or /
/// Returns names, numbers, operators and quoted strings as views of the text.
std::vector<std::string_view> tokens_of(std::string_view text, Syntax syntax);

/// The tokens refer to `text`, which must outlive the reader.
class TokenReader {
 protected:
  TokenReader(std::string_view text, Syntax syntax) : tokens_(tokens_of(text, syntax)) {}

  /// Returns the next token, or one further ahead; empty at the end.
  std::string_view next(std::size_t ahead = 0) const {
    return at_ + ahead < tokens_.size() ? tokens_[at_ + ahead] : std::string_view();
  }
  bool skip(std::string_view token) {
    if (next() != token) return false;
    ++at_;
    return true;
  }

  std::vector<std::string_view> tokens_;
  std::size_t at_ = 0;
};

}  // namespace fatune
