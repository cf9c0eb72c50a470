// line_reader.hpp: Splits the bytes of a pipe into lines of limited length.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>

#include "core/result.hpp"

namespace fatune {

class LineReader {
 public:
  struct Line {
    std::string text;
    bool too_long = false;  ///< the line exceeded the limit; its text was dropped
  };

  /// The caller keeps ownership of `descriptor`.
  LineReader(int descriptor, std::size_t limit) : descriptor_(descriptor), limit_(limit) {}

  /// Waits up to `patience` for bytes and reads them; a signal ends the wait.
  Status wait(std::chrono::milliseconds patience);
  /// Returns the oldest unread line. At the end of input, text without a line break is a line.
  std::optional<Line> next();
  bool ended() const { return ended_; }

 private:
  Line take(std::size_t end);

  int descriptor_;
  std::size_t limit_;
  std::string buffer_;
  std::size_t searched_ = 0;  ///< bytes of the buffer already searched for a line break
  bool dropping_ = false;     ///< the reader discards bytes up to the next line break
  bool ended_ = false;
};

}  // namespace fatune
