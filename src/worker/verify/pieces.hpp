// pieces.hpp: Splits the blocks of a tensor into pieces, for several threads.
#pragma once

#include <cstdint>
#include <vector>

#include "core/parallel.hpp"
#include "model/problem/tensor.hpp"

namespace fatune {

inline constexpr std::int64_t kMostOfAPiece = 1 << 17;  // chosen: some 100 us of work for a thread

/// Elements of a block, which is one piece unless its rows are long.
struct Piece {
  std::size_t block;
  std::int64_t first, count;
};

/// All pieces of a contiguous tensor, in order.
std::vector<Piece> pieces_of(const TensorPlan& tensor);

/// Returns what `work` makes of each piece, on several threads.
template <typename Made, typename Work>
std::vector<Made> of_pieces(const std::vector<Piece>& pieces, const Work& work) {
  std::vector<Made> made(pieces.size());
  const auto least = static_cast<std::size_t>(kMostOfAPiece / pieces.front().count);
  parallel_for(pieces.size(), least, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) made[i] = work(pieces[i]);
  });
  return made;
}

}  // namespace fatune
