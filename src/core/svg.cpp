// svg.cpp: Writes the SVG elements that all figures share.
#include "core/svg.hpp"

#include <array>
#include <cmath>

#include <fmt/format.h>

#include "core/text.hpp"

namespace fatune::svg {
namespace {

constexpr std::array<const char*, 8> kColours = {"#d55e00", "#0072b2", "#009e73", "#cc79a7",
                                                 "#e69f00", "#56b4e9", "#8c6bb1", "#a6761d"};
constexpr const char* kStyle =
    ".ground { fill: #ffffff } .text { fill: #1f2328 } .faint { fill: #59636e }\n"
    ".grid { stroke: #d1d9e0 } .axis { stroke: #59636e }\n"
    "@media (prefers-color-scheme: dark) {\n"
    "  .ground { fill: #0d1117 } .text { fill: #e6edf3 } .faint { fill: #9198a1 }\n"
    "  .grid { stroke: #30363d } .axis { stroke: #9198a1 }\n"
    "}\n";

}  // namespace

std::string escape(const std::string& text) {
  std::string escaped;
  for (const char c : printable(text)) {
    escaped += c == '&'      ? "&amp;"
               : c == '<'    ? "&lt;"
               : c == '>'    ? "&gt;"
               : c == '"'    ? "&quot;"
               : c == '\x1b' ? "\\u001b"
                             : std::string(1, c);
  }
  return escaped;
}

std::string number(double value) { return fixed(value, 1); }

std::string begin(double width, double height, const std::string& style) {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" "
      "height=\"{1}\" font-family=\"system-ui, DejaVu Sans, sans-serif\" font-size=\"12\">\n"
      "<style>\n{2}{3}</style>\n<rect class=\"ground\" width=\"100%\" height=\"100%\"/>\n",
      number(width), number(height), kStyle, style);
}

std::string text_at(double x, double y, const std::string& rest, const std::string& text) {
  return fmt::format("<text x=\"{}\" y=\"{}\" {}>{}</text>\n", number(x), number(y), rest,
                     escape(text));
}

std::string line_at(double x1, double y1, double x2, double y2, const std::string& css) {
  return fmt::format("<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\" class=\"{}\"/>\n", number(x1),
                     number(y1), number(x2), number(y2), css);
}

const char* colour(std::size_t i) { return kColours[i % kColours.size()]; }

double tick_step(double range) {
  const double power = std::pow(10.0, std::floor(std::log10(range / 3)));
  for (const double factor : {5.0, 2.0}) {
    if (range / (factor * power) >= 3) return factor * power;
  }
  return power;
}

}  // namespace fatune::svg
