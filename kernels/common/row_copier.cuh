// row_copier.cuh: Copies rows of elements to a swizzled tile by some of a block's threads,
// as few as one warp.
#pragma once

#include "common/swizzled_tile.cuh"

/// One of kWorkers threads' part in copying a tensor's tile, as in Copier of swizzled_tile.cuh.
/// Where they copy only 4 rows in a pass, the swizzle of the next pass differs from that of the
/// first by one bit: an exclusive or of the address.
template <int kWorkers, typename Tensor>
struct RowCopier {
  using Rows = TileRows<Tensor::kColumns>;
  static constexpr int kCopyRows = kWorkers / Rows::kSwizzleWays;
  static_assert((kCopyRows & (kCopyRows - 1)) == 0, "rows of two passes differ in other bits");
  int row;
  u32 to;  // shared address of its first chunk, in a tile at `shared`, a multiple of 128
  typename Tensor::Offset from;  // elements from the tensor's first row
  int column;

  DEVICE RowCopier(u32 shared, int worker) {
    row = worker / Rows::kSwizzleWays;
    to = shared + Rows::chunk_offset(row, worker % Rows::kSwizzleWays);
    column = worker % Rows::kSwizzleWays * kChunkColumns;
    from = row * Tensor::kRow + column;
  }

  /// Copies kCount rows to `tile` bytes after `shared`; `source` is the first of them plus `from`.
  /// Rows from `rows_left` on become zeros when kMayEnd, and are not read.
  template <int kCount, bool kMayEnd>
  DEVICE void copy(int tile, const elem* source, int rows_left) const {
    copy_each<kCount, kMayEnd>(tile, rows_left,
                               [&](int pass) { return source + pass * Tensor::kRow; });
  }

  /// The same of rows that lie anywhere: row r of the tile is `offset_of(r)` elements from `first`.
  template <int kCount, bool kMayEnd, typename OffsetOf>
  DEVICE void gather(int tile, const elem* first, int rows_left, OffsetOf offset_of) const {
    copy_each<kCount, kMayEnd>(tile, rows_left, [&](int pass) {
      return first + (offset_of(row + pass) + column);
    });
  }

 private:
  template <int kCount, bool kMayEnd, typename SourceOf>
  DEVICE void copy_each(int tile, int rows_left, SourceOf source_of) const {
#pragma unroll
    for (int pass = 0; pass < kCount; pass += kCopyRows) {
      if (kCount % kCopyRows != 0 && row + pass >= kCount) break;
      const elem* source = source_of(pass);
#pragma unroll
      for (int chunk = 0; chunk < Rows::kChunks; chunk += Rows::kSwizzleWays) {
        const u32 target =
            (to ^ (Rows::swizzle(pass) * 16)) + tile + pass * Rows::kRowBytes + chunk * 16;
        if constexpr (Rows::kFullChunks < Rows::kChunks) {
          const bool inside = !kMayEnd || row + pass < rows_left;
          cp_async_16_or_zero(target, source + chunk * kChunkColumns,
                              inside && Rows::has_elements(column, chunk));
        } else if constexpr (kMayEnd) {
          cp_async_16_or_zero(target, source + chunk * kChunkColumns, row + pass < rows_left);
        } else {
          cp_async_16(target, source + chunk * kChunkColumns);
        }
      }
    }
  }
};
