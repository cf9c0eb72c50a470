// entropy.hpp - the system's generator to a number that nobody can foretell.
#pragma once

#include <cstdint>

namespace fatune {

/// 64 even bits. std::random_device gives the same, but a program that holds it asks for glibc
/// 2.36 (CONTRIBUTING.md, preset portable).
std::uint64_t random_bits();

}  // namespace fatune
