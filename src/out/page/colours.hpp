// colours.hpp - a kernel's name to its colour, the same on every page and in every picture.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace fatune {

/// Of a mark on white paper, and on black.
struct KernelColour {
  const char* light;
  const char* dark;
};
std::span<const KernelColour> kernel_colours();
/// Position in kernel_colours(), by the name alone.
std::size_t kernel_colour(std::string_view kernel);

}  // namespace fatune
