// entropy.cpp - asks the kernel.
#include "core/entropy.hpp"

#include <unistd.h>

#include "core/check.hpp"

namespace fatune {

std::uint64_t random_bits() {
  std::uint64_t bits = 0;
  FATUNE_CHECK(::getentropy(&bits, sizeof bits) == 0, "Linux has had it since 3.17");
  return bits;
}

}  // namespace fatune
