// paint.hpp - text to text in colour, where the reader is a terminal that shows it.
#pragma once

#include <string>
#include <string_view>

namespace fatune {

enum class Colour { kNone, kAnsi };

/// What a colour is to say; the terminal's own palette decides how it looks, light or dark.
enum class Tone {
  kStrong,  ///< the one line to read first
  kGood,
  kWarn,
  kBad,
  kFaint,  ///< there for completeness
};

class Paint {
 public:
  Paint() = default;
  explicit Paint(Colour colour) : colour_(colour) {}
  /// Without colours, and of empty text, the text itself. Widths in tables stay right: they are
  /// counted by display_width().
  std::string operator()(Tone tone, std::string_view text) const;

 private:
  Colour colour_ = Colour::kNone;
};

}  // namespace fatune
