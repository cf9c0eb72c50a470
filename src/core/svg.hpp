// svg.hpp - lines, words and colours to the text of a picture, in light and in dark.
#pragma once

#include <cstddef>
#include <string>

namespace fatune::svg {

/// Text between tags or in a quoted attribute.
std::string escape(const std::string& text);
/// With one decimal: a tenth of a pixel.
std::string number(double value);
/// Opens a picture of this size in pixels, with its ground painted. Classes: text, faint (fill),
/// grid, axis (stroke); `style` adds others.
std::string begin(double width, double height, const std::string& style = "");
/// `rest`: more attributes, "class=\"text\"".
std::string text_at(double x, double y, const std::string& rest, const std::string& text);
std::string line_at(double x1, double y1, double x2, double y2, const std::string& css);
/// The i-th of eight, then again from the first: told apart by readers who see few colours (after
/// Okabe and Ito), on white and on black.
const char* colour(std::size_t i);
/// A step of 1, 2 or 5 times a power of ten that cuts `range` into 3 to 7 pieces.
double tick_step(double range);

}  // namespace fatune::svg
