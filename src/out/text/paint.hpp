// paint.hpp - how text is laid out: in colour where a terminal shows it, and in how many columns.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace fatune {

inline constexpr std::size_t kUsualColumns = 80;  // of a terminal

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
  explicit Paint(Colour colour, std::size_t columns = kUsualColumns)
      : colour_(colour), columns_(columns) {}
  /// Without colours, and of empty text, the text itself. Widths in tables stay right: they are
  /// counted by display_width().
  std::string operator()(Tone tone, std::string_view text) const;

  /// Lines that are too wide, broken at spaces; what is broken off stands two spaces further in.
  std::string fitted(std::string_view text) const;

  std::size_t columns() const { return columns_; }

 private:
  Colour colour_ = Colour::kNone;
  std::size_t columns_ = kUsualColumns;
};

}  // namespace fatune
