// arc4random.cpp - stands in for glibc 2.36's, by what glibc has had since 2.25.
//
// g++ 12's static libstdc++ asks for it, for std::random_device; of all that a portable build asks for,
// nothing else is so new.
#include <cstdint>

#include <unistd.h>

extern "C" [[gnu::visibility("hidden")]] std::uint32_t arc4random() noexcept {
  std::uint32_t bits = 0;
  if (::getentropy(&bits, sizeof bits) != 0) __builtin_trap();
  return bits;
}
