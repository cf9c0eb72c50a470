// utf8.hpp: Declares how text in UTF-8 begins, where it may be cut, and what marks its colours.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace fatune {

/// The first of the bytes that mean fatune's colours: reset, bold, green, yellow, red, faint. UTF-8
/// has none of the bytes, so that no text of a file can colour a terminal. printable() makes
/// escapes of them.
inline constexpr unsigned char kColourMark = 0xF8;
inline constexpr unsigned char kColours = 6;

/// Removes the byte-order mark that some editors put in front.
void drop_byte_order_mark(std::string& text);
/// Returns at most the first `bytes`, without half a character at the end.
std::string_view head(std::string_view text, std::size_t bytes);

}  // namespace fatune
