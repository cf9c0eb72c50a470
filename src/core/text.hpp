// text.hpp: Formats numbers, durations and lists for people, and declares string tools.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/units.hpp"

namespace fatune {

/// The first of the bytes that mean fatune's colours: reset, bold, green, yellow, red, faint. UTF-8
/// has none of the bytes, so that no text of a file can colour a terminal. printable() makes
/// escapes of them.
inline constexpr unsigned char kColourMark = 0xF8;
inline constexpr unsigned char kColours = 6;

/// Removes the byte-order mark that some editors put in front of UTF-8.
void drop_byte_order_mark(std::string& text);
/// Returns at most the first `bytes`, without half a character of UTF-8 at the end.
std::string_view head(std::string_view text, std::size_t bytes);

std::string describe(Micros t);   ///< "9.81 us", "1.74 ms", "2.3 s": three significant digits
std::string describe(Seconds t);  ///< "12.3 s", "2 min 05 s"
std::string describe(Bytes n);    ///< "48 KiB", "8.0 MiB"
std::string fixed(double value, int decimals);
std::string percent(double fraction, int decimals = 1);         ///< 0.031 -> "3.1 %"
std::string counted(std::size_t count, std::string_view what);  ///< "1 kernel", "2 kernels"
std::vector<std::string> split(std::string_view text, char separator);
/// Splits at the separator outside of brackets, and trims the parts. An empty text has no part.
std::vector<std::string> split_outside(std::string_view text, char separator);
/// Returns the length of the text up to the first of the characters outside of brackets.
std::size_t length_before(std::string_view text, std::string_view characters);
std::string_view trim(std::string_view text);
std::string first_line(std::string_view text);           ///< trimmed
std::size_t occurrences(std::string_view text, char c);  ///< fastest for rare characters
std::string lower(std::string_view text);                ///< ASCII only
std::string upper(std::string_view text);                ///< ASCII only
std::string replaced(std::string text, std::string_view from, std::string_view to);
bool contains(std::span<const std::string> names, std::string_view name);
std::string join(std::span<const std::string> parts, std::string_view separator);
/// Quotes a word for a POSIX shell if necessary.
std::string shell_word(std::string_view text);
/// Escapes text for a terminal: control characters and direction marks become \u001b as in JSON.
/// Line breaks and tabs stay, and colour marks (kColourMark) become escapes.
std::string printable(std::string_view text);
/// Makes a file name from a name in a file: letters, digits, '-', '_' and dots that do not lead.
/// Other characters become '_'.
std::string file_name(std::string_view text);
/// Empty unless the whole text is the number.
std::optional<std::int64_t> parse_integer(std::string_view text);
std::optional<double> parse_number(std::string_view text);
/// Cuts a text that an error quotes after 200 bytes, at a character, and adds an ellipsis.
std::string excerpt(std::string_view text);
/// Returns the nearest name (edit distance <= 3), for "did you mean". Nothing is near a text of
/// more than 100 bytes.
std::optional<std::string> nearest_name(std::string_view text, std::span<const std::string> names);
/// Returns `hint` with the nearest name in place of "{}"; `otherwise` if no name is near.
std::string nearest_hint(std::string_view text, std::span<const std::string> names,
                         std::string_view hint, std::string_view otherwise = "");
/// `inside` is the content of a class: "A-Za-z_" or "^/".
bool in_class(char c, std::string_view inside);
/// Matches the whole text. The pattern is an extended regular expression of POSIX.
bool matches(std::string_view text, const char* pattern);
std::size_t display_width(std::string_view utf8);  ///< columns on a terminal
/// Breaks text at spaces and line breaks into lines of at most `columns`; a longer word is a line.
std::vector<std::string> wrap(std::string_view text, std::size_t columns);

}  // namespace fatune
