// text.hpp - numbers, durations and lists as people read them; small string tools.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/units.hpp"

namespace fatune {

std::string describe(Micros t);   ///< "9.81 us", "1.74 ms", "2.3 s": three significant digits
std::string describe(Seconds t);  ///< "12.3 s", "2 min 05 s"
std::string describe(Bytes n);    ///< "48 KiB", "8.0 MiB"
std::string fixed(double value, int decimals);
std::string percent(double fraction, int decimals = 1);         ///< 0.031 -> "3.1 %"
std::string counted(std::size_t count, std::string_view what);  ///< "1 kernel", "2 kernels"
std::string to_hex(std::string_view bytes);
std::optional<std::string> from_hex(std::string_view digits);
std::vector<std::string> split(std::string_view text, char separator);
std::string_view trim(std::string_view text);
std::string first_line(std::string_view text);           ///< trimmed
std::size_t occurrences(std::string_view text, char c);  ///< faster, the fewer there are
std::string lower(std::string_view text);                ///< of ASCII
std::string replaced(std::string text, std::string_view from, std::string_view to);  ///< everywhere
std::string join(std::span<const std::string> parts, std::string_view separator);
/// One word of a command, such that a POSIX shell reads the text back; quoted only where it must
/// be.
std::string shell_word(std::string_view text);
/// For a terminal: control characters but line breaks, tabs and our colours, and marks that turn
/// text around, stand as \u001b, which in JSON means the same.
std::string printable(std::string_view text);
/// Of a name that a file gave: letters, digits, '-', '_' and dots that do not lead; '_' for all
/// else.
std::string file_name(std::string_view text);
/// Whole text must be the number; no value otherwise.
std::optional<std::int64_t> parse_integer(std::string_view text);
std::optional<double> parse_number(std::string_view text);
/// The candidate nearest to a misspelt name (edit distance <= 3), for "did you mean".
std::optional<std::string> nearest_name(std::string_view text, std::span<const std::string> names);
/// `hint` with that name, "; did you mean '{}'?"; `otherwise` when none is near.
std::string nearest_hint(std::string_view text, std::span<const std::string> names,
                         std::string_view hint, std::string_view otherwise = "");
/// `inside` is that of a class, "A-Za-z_" or "^/".
bool in_class(char c, std::string_view inside);
/// Anchored: literals and classes such as [a-z_] or [^/], each followed by nothing, ?, +, * or {n}.
/// What a class takes it keeps, so "a*a" matches nothing.
bool matches(std::string_view text, std::string_view pattern);
std::size_t display_width(std::string_view utf8);  ///< columns on a terminal
/// Lines of at most `columns`, broken at spaces and where the text is; a longer word is a line.
std::vector<std::string> wrap(std::string_view text, std::size_t columns);

}  // namespace fatune
