// files.cpp: Fuzzes JSON, gzip, and escaping for terminals, SVG and shells with any bytes.
#include <algorithm>

#include "core/file.hpp"
#include "core/gzip.hpp"
#include "core/svg.hpp"
#include "core/text.hpp"
#include "fuzz.hpp"

namespace fatune::fuzz {

void json(std::string_view text) {
  static_cast<void>(refuse_repeated_keys(text, "x"));
  const auto value = parse_json(text, "x");
  if (!value) return;
  const auto again = parse_json(dump_pretty(*value), "written");
  FATUNE_CHECK(again && dump(*again) == dump(*value), "JSON reads back as it was");
}

void gzip(std::string_view text) { static_cast<void>(gunzip(text, "x")); }

void words(std::string_view text) {
  const auto commands = [](char c) {
    return static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t';
  };
  std::string shown = printable(text);
  for (const char* colour : {"\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[31m", "\x1b[32m", "\x1b[33m"})
    shown = replaced(std::move(shown), colour, "");
  FATUNE_CHECK(std::ranges::none_of(shown, commands), "our colours alone reach a terminal");
  const std::string escaped = svg::escape(std::string(text));
  FATUNE_CHECK(std::ranges::none_of(escaped, commands), "XML has no control character");
  FATUNE_CHECK(escaped.find_first_of("<>\"") == std::string::npos, "a tag cannot begin");
  const std::string name = file_name(text);
  FATUNE_CHECK(!name.empty() && name.front() != '.' && name.find('/') == std::string::npos,
               "a name stays in its folder");
  const std::string word = shell_word(text);
  FATUNE_CHECK(word == text || word.find('\'') != std::string::npos, "a shell reads it back");
  FATUNE_CHECK(join(split(text, ','), ",") == text, "parts make the whole");
  static_cast<void>(wrap(text, 20));
  static_cast<void>(parse_number(text));
  static_cast<void>(parse_integer(text));
  static_cast<void>(matches(text, "[A-Za-z_][A-Za-z0-9_]*"));
}

}  // namespace fatune::fuzz
