// text.cpp: Formats numbers for people and parses numbers and patterns.
#include "core/text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>

#include <fmt/format.h>
#include <regex.h>

#include "core/result.hpp"

namespace fatune {
namespace {

constexpr std::size_t kLongestQuote = 200, kLongestNear = 100;  // bytes; chosen

/// Returns the decimals that leave three significant digits after rounding.
int decimals_for_three_digits(double magnitude) {
  if (magnitude < 9.995) return magnitude < 0.9995 ? 3 : 2;
  return magnitude < 99.95 ? 1 : 0;
}

template <typename T>
std::optional<T> parse_whole(std::string_view text) {
  T value{};
  const char* end = text.data() + text.size();
  const auto [stop, failure] = std::from_chars(text.data(), end, value);
  if (failure != std::errc() || stop != end || text.empty()) return std::nullopt;
  return value;
}

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

/// Levenshtein distance, ignoring case.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = diagonal + (lower(a[i - 1]) == lower(b[j - 1]) ? 0U : 1U);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, change});
    }
  }
  return row[b.size()];
}

bool is_colour(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= kColourMark && byte < kColourMark + kColours;
}

/// Reads one code point and moves past it; an invalid byte is its own code point.
char32_t next_code_point(std::string_view utf8, std::size_t& at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(utf8[i]); };
  const unsigned first = byte(at++);
  const int more = first >= 0xF8   ? 0
                   : first >= 0xF0 ? 3
                   : first >= 0xE0 ? 2
                   : first >= 0xC0 ? 1
                                   : 0;
  if (more == 0) return first;
  char32_t point = first & (0x3FU >> more);
  for (int i = 0; i < more && at < utf8.size() && (byte(at) & 0xC0U) == 0x80U; ++i) {
    point = (point << 6) | (byte(at++) & 0x3FU);
  }
  return point;
}

/// True for control characters of ASCII and Latin 1 and Unicode's direction marks.
bool is_unprintable(char32_t p) {
  if (p == '\n' || p == '\t') return false;
  return p < 0x20 || (p >= 0x7F && p <= 0x9F) || p == 0x61C || p == 0x200E || p == 0x200F ||
         (p >= 0x202A && p <= 0x202E) || (p >= 0x2066 && p <= 0x2069);
}

/// True for blocks of Unicode's East Asian Width "wide", which take two columns.
bool is_wide(char32_t p) {
  return (p >= 0x1100 && p <= 0x115F) || (p >= 0x2E80 && p <= 0xA4CF) ||
         (p >= 0xAC00 && p <= 0xD7A3) || (p >= 0xF900 && p <= 0xFAFF) ||
         (p >= 0xFE30 && p <= 0xFE6F) || (p >= 0xFF00 && p <= 0xFF60) ||
         (p >= 0x1F300 && p <= 0x1FAFF) || (p >= 0x20000 && p <= 0x3FFFD);
}

bool is_zero_width(char32_t p) {
  return p < 0x20 || (p >= 0x300 && p <= 0x36F) || (p >= 0x200B && p <= 0x200D) || p == 0xFE0F;
}

struct Regex {
  regex_t value;
  ~Regex() { ::regfree(&value); }
};

/// Compiles each pattern once in a thread, because loading the kernels matches hundreds of texts.
/// Patterns are constants of the program, so the map may refer to them.
const regex_t& compiled(const char* pattern) {
  static thread_local std::map<std::string_view, Regex> known;
  const auto [place, fresh] = known.try_emplace(pattern);
  regex_t& regex = place->second.value;
  if (fresh) {
    const std::string whole = fmt::format("^({})$", pattern);
    FATUNE_CHECK(::regcomp(&regex, whole.c_str(), REG_EXTENDED | REG_NOSUB) == 0,
                 "patterns are constants of the program");
  }
  return regex;
}

}  // namespace

void drop_byte_order_mark(std::string& text) {
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  if (text.starts_with(kMark)) text.erase(0, kMark.size());
}

std::string_view head(std::string_view text, std::size_t bytes) {
  const auto continues = [&] { return (static_cast<unsigned char>(text[bytes]) & 0xC0U) == 0x80U; };
  if (text.size() <= bytes) return text;
  for (int i = 0; i < 3 && bytes > 0 && continues(); ++i) --bytes;
  return text.substr(0, bytes);
}

std::string fixed(double value, int decimals) {
  std::string text = fmt::format("{:.{}f}", value, decimals);
  const bool negative_zero =
      text.front() == '-' && text.find_first_not_of("-0.") == std::string::npos;
  return negative_zero ? text.substr(1) : text;
}

std::string describe(Micros t) {
  const double magnitude = std::abs(t.value);
  if (magnitude >= 999.5e3) return describe(to_seconds(t));
  if (magnitude == 0) return "0 us";
  const bool millis = magnitude >= 999.5;
  const double shown = millis ? t.value * 1e-3 : t.value;
  return fixed(shown, decimals_for_three_digits(std::abs(shown))) + (millis ? " ms" : " us");
}

std::string describe(Seconds t) {
  const bool minutes = std::abs(t.value) >= 59.95 && std::abs(t.value) < 1e15;  // fits llround()
  if (!minutes) return fixed(t.value, 1) + " s";
  const auto whole = static_cast<std::int64_t>(std::llround(std::abs(t.value)));
  const char* sign = t.value < 0 ? "-" : "";
  if (whole < 3600) return fmt::format("{}{} min {:02} s", sign, whole / 60, whole % 60);
  return fmt::format("{}{} h {:02} min", sign, whole / 3600, whole % 3600 / 60);
}

std::string describe(Bytes n) {
  constexpr std::array kUnits = {"KiB", "MiB", "GiB", "TiB", "PiB"};
  if (n.value < 1024) return fmt::format("{} B", n.value);
  if (n.value < 1024 * 1024 && n.value % 1024 == 0) return fmt::format("{} KiB", n.value / 1024);
  double shown = static_cast<double>(n.value) / 1024;
  std::size_t unit = 0;
  for (; shown >= 1023.95 && unit + 1 < kUnits.size(); ++unit) shown /= 1024;
  return fixed(shown, 1) + " " + kUnits[unit];
}

std::string percent(double fraction, int decimals) {
  return fixed(fraction * 100, decimals) + " %";
}

std::string counted(std::size_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  std::string result;
  std::size_t begin = 0;
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, begin)) {
    result.append(text, begin, at - begin).append(to);
    begin = at + from.size();
  }
  return result.append(text, begin);
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  for (std::size_t end = text.find(separator); end != std::string_view::npos;
       end = text.find(separator, begin)) {
    parts.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  parts.emplace_back(text.substr(begin));
  return parts;
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n\v\f";
  const std::size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

std::string first_line(std::string_view text) {
  return std::string(trim(text.substr(0, text.find('\n'))));
}

std::size_t occurrences(std::string_view text, char c) {
  std::size_t found = 0;
  for (auto at = text.find(c); at != text.npos; at = text.find(c, at + 1)) ++found;
  return found;
}

std::size_t length_before(std::string_view text, std::string_view characters) {
  int depth = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == ')' || c == ']') --depth;
    if (depth <= 0 && characters.find(c) != std::string_view::npos) return at;
    if (c == '(' || c == '[') ++depth;
  }
  return text.size();
}

std::vector<std::string> split_outside(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (!trim(text).empty()) {
    const std::size_t end = length_before(text, std::string_view(&separator, 1));
    parts.emplace_back(trim(text.substr(0, end)));
    text = text.substr(std::min(end + 1, text.size()));
  }
  return parts;
}

std::string lower(std::string_view text) {
  std::string small(text);
  for (char& c : small) c = lower(c);
  return small;
}

std::string upper(std::string_view text) {
  std::string large(text);
  for (char& c : large) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return large;
}

bool contains(std::span<const std::string> names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

std::string join(std::span<const std::string> parts, std::string_view separator) {
  return fmt::format("{}", fmt::join(parts, separator));
}

std::string shell_word(std::string_view text) {
  if (matches(text, "[a-zA-Z0-9%+,./:=@_-]+")) return std::string(text);
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? R"('\'')" : std::string(1, c);
  return word + "'";
}

std::optional<std::int64_t> parse_integer(std::string_view text) {
  return parse_whole<std::int64_t>(text);
}

std::optional<double> parse_number(std::string_view text) {
  const auto value = parse_whole<double>(text);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

std::string excerpt(std::string_view text) {
  const std::string_view kept = head(text, kLongestQuote);
  return std::string(kept) + (kept.size() < text.size() ? "..." : "");
}

std::optional<std::string> nearest_name(std::string_view text, std::span<const std::string> names) {
  std::optional<std::string> nearest;
  if (text.size() > kLongestNear) return nearest;  // the distance to each name costs its length
  std::size_t least = 4;
  for (const std::string& name : names) {
    const std::size_t distance = edit_distance(text, name);
    // At least half the letters must agree, or "ga" would be suggested for any short word.
    if (distance < least && 2 * distance <= std::max(text.size(), name.size())) {
      least = distance;
      nearest = name;
    }
  }
  return nearest;
}

std::string nearest_hint(std::string_view text, std::span<const std::string> names,
                         std::string_view hint, std::string_view otherwise) {
  const auto nearest = nearest_name(text, names);
  return nearest ? fmt::format(fmt::runtime(hint), *nearest) : std::string(otherwise);
}

bool in_class(char c, std::string_view inside) {
  const bool inverted = inside.starts_with('^');
  if (inverted) inside.remove_prefix(1);
  bool found = false;
  for (std::size_t i = 0; i < inside.size(); ++i) {
    if (i + 2 < inside.size() && inside[i + 1] == '-') {
      found = found || (c >= inside[i] && c <= inside[i + 2]);
      i += 2;
    } else {
      if (inside[i] == '\\') ++i;
      found = found || c == inside[i];
    }
  }
  return found != inverted;
}

bool matches(std::string_view text, const char* pattern) {
  const std::string whole(text);  // regexec() wants a zero behind the text
  regmatch_t range{0, static_cast<regoff_t>(whole.size())};
  return ::regexec(&compiled(pattern), whole.c_str(), 1, &range, REG_STARTEND) == 0;
}

std::string printable(std::string_view text) {
  static constexpr std::array<std::string_view, kColours> kEscapes = {
      "\x1b[0m", "\x1b[1m", "\x1b[32m", "\x1b[33m", "\x1b[31m", "\x1b[2m"};
  std::string safe;
  for (std::size_t at = 0; at < text.size();) {
    if (is_colour(text[at])) {
      safe += kEscapes[static_cast<unsigned char>(text[at++]) - kColourMark];
      continue;
    }
    const std::size_t begin = at;
    const char32_t point = next_code_point(text, at);
    if (is_unprintable(point)) {
      safe += fmt::format("\\u{:04x}", static_cast<std::uint32_t>(point));
    } else {
      safe += text.substr(begin, at - begin);
    }
  }
  return safe;
}

std::string file_name(std::string_view text) {
  // Chosen: leaves room for suffixes in names of at most 255 bytes.
  constexpr std::size_t kLongest = 100;
  std::string name(text.substr(0, kLongest));
  for (char& c : name) c = in_class(c, "A-Za-z0-9._-") ? c : '_';
  if (name.empty() || name.front() == '.') name.insert(name.begin(), '_');
  return name;
}

std::size_t display_width(std::string_view utf8) {
  std::size_t width = 0;
  for (std::size_t at = 0; at < utf8.size();) {
    const bool colour = is_colour(utf8[at]);
    const char32_t point = next_code_point(utf8, at);
    if (!colour && !is_zero_width(point)) width += is_wide(point) ? 2U : 1U;
  }
  return width;
}

std::vector<std::string> wrap(std::string_view text, std::size_t columns) {
  std::vector<std::string> lines;
  for (const std::string& given : split(text, '\n')) {
    std::string line;
    std::size_t width = 0;
    for (const std::string& word : split(given, ' ')) {
      const std::size_t wanted = display_width(word);
      const bool first = line.empty();
      if (!first && width + 1 + wanted > columns) {
        lines.push_back(std::move(line));
        line = word;
        width = wanted;
        continue;
      }
      line += (first ? "" : " ") + word;
      width += wanted + (first ? 0 : 1);
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace fatune
