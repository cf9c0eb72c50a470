// whole_inputs.cpp: Draws the elements of integers and bool.
#include "core/parallel.hpp"
#include "worker/verify/inputs.hpp"

namespace fatune {
namespace {

constexpr std::size_t kOfAThread = 128 * 1024;  // chosen: some 100 us of work

/// Fills signed and unsigned elements alike: their bits are the same modulo 2^width.
template <typename Element>
void fill_whole(std::span<Element> all, const Fill& fill, std::uint64_t seed,
                std::uint64_t stream) {
  const bool drawn = fill.kind == Fill::Kind::kWhole;
  const auto from = static_cast<std::uint64_t>(static_cast<std::int64_t>(fill.offset));
  const std::uint64_t count = drawn ? static_cast<std::uint64_t>(fill.scale) + 1 : 1;
  parallel_for(all.size(), kOfAThread, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i)
      all[i] = static_cast<Element>(from + random_bits(seed, stream, i) % count);
  });
}

}  // namespace

std::vector<std::byte> whole_elements(const TensorPlan& tensor, const Fill& fill,
                                      std::uint64_t seed, std::uint64_t stream) {
  std::vector<std::byte> bytes(tensor.bytes());
  const std::size_t width = tensor.width();
  if (width == 1) fill_whole(elements<std::uint8_t>(bytes), fill, seed, stream);
  if (width == 2) fill_whole(elements<std::uint16_t>(bytes), fill, seed, stream);
  if (width == 4) fill_whole(elements<std::uint32_t>(bytes), fill, seed, stream);
  if (width == 8) fill_whole(elements<std::uint64_t>(bytes), fill, seed, stream);
  return bytes;
}

}  // namespace fatune
