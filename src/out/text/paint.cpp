// paint.cpp - puts the escape sequences of ECMA-48 around a piece of text.
#include "out/text/paint.hpp"

#include <algorithm>

#include "core/text.hpp"

namespace fatune {
namespace {

std::string_view begin(Tone tone) {
  switch (tone) {
    case Tone::kStrong:
      return "\x1b[1m";
    case Tone::kGood:
      return "\x1b[32m";
    case Tone::kWarn:
      return "\x1b[33m";
    case Tone::kBad:
      return "\x1b[31m";
    case Tone::kFaint:
      return "\x1b[2m";
  }
  return "";
}

constexpr std::string_view kPlain = "\x1b[0m";

}  // namespace

std::string Paint::fitted(std::string_view text) const {
  std::string result;
  if (text.ends_with('\n')) text.remove_suffix(1);
  for (const std::string& line : split(text, '\n')) {
    const std::size_t lead = std::min(line.find_first_not_of(' '), line.size());
    const std::string behind = "\n" + std::string(lead + 2, ' ');
    result += display_width(line) <= columns_
                  ? line
                  : std::string(lead, ' ') +
                        join(wrap(line.substr(lead), columns_ - std::min(columns_ - 1, lead + 2)),
                             behind);
    result += '\n';
  }
  return result;
}

std::string Paint::operator()(Tone tone, std::string_view text) const {
  if (colour_ == Colour::kNone || text.empty()) return std::string(text);
  return std::string(begin(tone)) + std::string(text) + std::string(kPlain);
}

}  // namespace fatune
