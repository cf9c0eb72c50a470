// token_reader.hpp: Walks over the tokens of an expression, for its parsers.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "model/kernel/expression.hpp"

namespace fatune {

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
