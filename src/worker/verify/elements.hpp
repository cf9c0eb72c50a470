// elements.hpp: Views the bytes of a tensor as its elements.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace fatune {

/// The bytes must come from an allocator, which aligns them for any element.
template <typename Element>
std::span<Element> elements(std::vector<std::byte>& bytes) {
  return {reinterpret_cast<Element*>(bytes.data()), bytes.size() / sizeof(Element)};
}
template <typename Element>
std::span<const Element> elements(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const Element*>(bytes.data()), bytes.size() / sizeof(Element)};
}

}  // namespace fatune
