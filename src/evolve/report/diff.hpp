// diff.hpp: Computes the lines in which two texts differ.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fatune {

struct DiffLine {
  enum class Kind { kSame, kRemoved, kAdded, kGap };
  Kind kind = Kind::kSame;
  std::string text;  ///< empty for a gap
};

/// Keeps `context` lines around each difference and replaces other common lines by a gap. Texts too
/// different for a comparison are removed and added as a whole.
std::vector<DiffLine> line_diff(std::string_view before, std::string_view after,
                                std::size_t context = 2);

}  // namespace fatune
