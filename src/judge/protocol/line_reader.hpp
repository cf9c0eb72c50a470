// line_reader.hpp - bytes of a pipe to lines, none of them longer than a limit.
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
    bool too_long = false;  ///< more than the limit; the text was dropped
  };

  /// The descriptor stays the caller's.
  LineReader(int descriptor, std::size_t limit) : descriptor_(descriptor), limit_(limit) {}

  /// Takes what has arrived, for which it waits; a signal ends the wait.
  Status wait(std::chrono::milliseconds patience);
  /// The oldest line that is not taken yet. Text behind the last line break counts at the end.
  std::optional<Line> next();
  bool ended() const { return ended_; }

 private:
  Line take(std::size_t end);

  int descriptor_;
  std::size_t limit_;
  std::string buffer_;
  std::size_t searched_ = 0;  ///< bytes of the buffer that have no line break
  bool dropping_ = false;     ///< up to the next line break
  bool ended_ = false;
};

}  // namespace fatune
