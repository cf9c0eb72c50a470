// svg.hpp: Declares the SVG elements and colours of figures, for light and dark schemes.
#pragma once

#include <cstddef>
#include <string>

namespace fatune::svg {

/// Escapes text between tags or in a quoted attribute.
std::string escape(const std::string& text);
/// Formats a number with one decimal, a tenth of a pixel.
std::string number(double value);
/// Opens a figure of this size in pixels and paints its background. Classes: text, faint (fill),
/// grid, axis (stroke); `style` adds others.
std::string begin(double width, double height, const std::string& style = "");
/// `rest` has further attributes, such as "class=\"text\"".
std::string text_at(double x, double y, const std::string& rest, const std::string& text);
std::string line_at(double x1, double y1, double x2, double y2, const std::string& css);
/// Returns one of eight colours, cyclically. They are distinguishable for colour-blind readers
/// (after Okabe and Ito), on white and on black.
const char* colour(std::size_t i);
/// Returns a step of 1, 2 or 5 times a power of ten that divides `range` into 3 to 7 parts.
double tick_step(double range);

}  // namespace fatune::svg
