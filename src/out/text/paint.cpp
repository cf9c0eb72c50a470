// paint.cpp - puts the escape sequences of ECMA-48 around a piece of text.
#include "out/text/paint.hpp"

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

constexpr std::string_view kEnd = "\x1b[0m";

}  // namespace

std::string Paint::operator()(Tone tone, std::string_view text) const {
  if (colour_ == Colour::kNone || text.empty()) return std::string(text);
  return std::string(begin(tone)) + std::string(text) + std::string(kEnd);
}

}  // namespace fatune
