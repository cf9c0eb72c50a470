// diff.hpp - two texts to the lines in which they differ.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fatune {

struct DiffLine {
  enum class Kind { kSame, kRemoved, kAdded, kGap };
  Kind kind = Kind::kSame;
  std::string text;  ///< of a gap: empty
};

/// With `context` lines around each difference; what is left out between them is a gap. Texts too
/// different to compare line by line are removed and added whole.
std::vector<DiffLine> line_diff(std::string_view before, std::string_view after,
                                std::size_t context = 2);

}  // namespace fatune
