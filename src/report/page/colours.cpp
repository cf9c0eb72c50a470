// colours.cpp: Maps a kernel's name to one of eight colours by a hash.
#include "report/page/colours.hpp"

#include <cstdint>
#include <iterator>

namespace fatune {
namespace {

// Chosen with a contrast of at least 3 : 1 to the background.
constexpr KernelColour kColours[] = {
    {"#0b6bcb", "#58a6ff"}, {"#d2650a", "#f0954a"}, {"#7a4bd0", "#b493f5"}, {"#12805c", "#3fb984"},
    {"#b0307c", "#ec7fbe"}, {"#7c6a00", "#d0bb3d"}, {"#0a7c8c", "#4cc3d4"}, {"#8a4b2a", "#cf9270"}};

static_assert(std::size(kColours) == 8, "three bits choose");

/// Found by exhaustive search: the first seed that gives all shipped attention kernels of one
/// element type class (16-bit or fp8) distinct colours; hybrids may collide.
constexpr std::uint32_t kSeed = 28'355'396;
constexpr std::uint32_t kPrime = 16'777'619;   // prime of FNV-1a
constexpr std::uint32_t kMixer = 0x85eb'ca6b;  // from the finaliser of MurmurHash3

}  // namespace

std::span<const KernelColour> kernel_colours() { return kColours; }

std::size_t kernel_colour(std::string_view kernel) {
  std::uint32_t hash = kSeed;
  for (const char letter : kernel) hash = (hash ^ static_cast<unsigned char>(letter)) * kPrime;
  hash = (hash ^ (hash >> 16)) * kMixer;
  return hash >> 29;
}

}  // namespace fatune
