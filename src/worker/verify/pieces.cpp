// pieces.cpp: Lists the pieces of a tensor.
#include "worker/verify/pieces.hpp"

#include <algorithm>

#include "worker/verify/compare.hpp"

namespace fatune {

std::vector<Piece> pieces_of(const TensorPlan& tensor) {
  std::vector<Piece> pieces;
  std::size_t block = 0;
  const std::int64_t rows = tensor.part_rows(), columns = tensor.columns();
  for (std::int64_t head = 0; head < tensor.rows() / rows; ++head) {
    for (std::int64_t row = 0; row < rows; row += kBlockRows, ++block) {
      std::int64_t first = (head * rows + row) * columns;
      const std::int64_t end = first + std::min(kBlockRows, rows - row) * columns;
      for (; first < end; first += kMostOfAPiece)
        pieces.push_back({block, first, std::min(kMostOfAPiece, end - first)});
    }
  }
  return pieces;
}

}  // namespace fatune
