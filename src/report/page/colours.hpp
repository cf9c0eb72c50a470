// colours.hpp: Declares the colour of each kernel, equal on every page and in every plot.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace fatune {

/// The colour of a mark on white paper and on black.
struct KernelColour {
  const char* light;
  const char* dark;
};
std::span<const KernelColour> kernel_colours();
/// Returns the position in kernel_colours(), computed from the name alone.
std::size_t kernel_colour(std::string_view kernel);

}  // namespace fatune
