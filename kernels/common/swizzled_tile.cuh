// swizzled_tile.cuh: Keeps rows of elements in shared memory without bank conflicts:
// copies them in, and addresses them for ldmatrix.
//
// The 16-byte chunk c of row r lies at chunk c ^ swizzle(r). ldmatrix reads one chunk of 8
// neighbouring rows at a time: these then lie in 8 different groups of 4 banks, and so do the 8
// chunks that 8 lanes copy. The exclusive or touches as many low bits as divide the row's chunks (3
// at 128 bytes, 2 at 192, 1 at 160), fed by the row bits above those that the pitch itself spreads
// over the banks. So no padding, at any row that is a multiple of 32 bytes. An odd number of chunks
// is followed by one of zeros.
#pragma once

#include "common/cp_async.cuh"
#include "common/key_order.cuh"

constexpr int kChunkColumns = 16 / DTYPE_BYTES;

/// The rows of a tile, each of kColumns elements.
template <int kColumns>
struct TileRows {
  static constexpr int kFullChunks = kColumns * DTYPE_BYTES / 16;  // of a row
  static constexpr int kChunks = ceil_div(kFullChunks, 2) * 2;     // and with one of zeros
  static constexpr int kRowBytes = kChunks * 16;
  static constexpr int kSwizzleBits = kChunks % 8 == 0 ? 3 : kChunks % 4 == 0 ? 2 : 1;
  static constexpr int kSwizzleWays = 1 << kSwizzleBits;
  static_assert(kColumns % kChunkColumns == 0, "rows of whole chunks");

  DEVICE static int swizzle(int row) { return (row >> (3 - kSwizzleBits)) & (kSwizzleWays - 1); }
  /// Byte offset of a chunk in a tile.
  DEVICE static int chunk_offset(int row, int chunk) {
    return row * kRowBytes + (chunk ^ swizzle(row)) * 16;
  }
  /// Whether there are elements of the row in a thread's chunk that is `chunk` chunks behind the
  /// one at `column`, its first: in the last one of an odd number there are none.
  DEVICE static bool has_elements(int column, int chunk) {
    return chunk + kSwizzleWays < kChunks || column + chunk * kChunkColumns < kColumns;
  }
};
using KeyRows = TileRows<HEAD_DIM>;     // of Q and K
using ValueRows = TileRows<VALUE_DIM>;  // of V and O
constexpr int kRowBytes = KeyRows::kRowBytes;
constexpr int kValueRowBytes = ValueRows::kRowBytes;

/// One lane's ldmatrix addresses in a tile: of 16x16 blocks whose rows start at a multiple of 8, at
/// a given column step. A step moves the chunk by 2, an exclusive or of the low bits and a sum
/// above them. Tiles must start at a multiple of 128 bytes: the exclusive or then works on the
/// address itself.
template <typename Rows>
struct Fragments {
  static constexpr int kVariants = Rows::kSwizzleWays / 2;
  u32 base;

  DEVICE Fragments in_stage(int offset) const {
    Fragments result = *this;
    result.base += offset;
    return result;
  }

  DEVICE u32 at(int row, int step) const {
    return (base ^ (step % kVariants * 32)) + row * Rows::kRowBytes + (step - step % kVariants) * 32;
  }
  /// The same of blocks one chunk wide.
  DEVICE u32 at_chunk(int row, int chunk) const {
    const int moved = chunk % Rows::kSwizzleWays;
    return (base ^ (moved * 16)) + row * Rows::kRowBytes + (chunk - moved) * 16;
  }
};

/// `row` is the lane's row within a block, `half` which of the block's two chunks it addresses.
template <typename Rows>
DEVICE Fragments<Rows> fragments(u32 tile, int row, int half) {
  return {tile + Rows::chunk_offset(row, half)};
}

/// One thread's part in copying a tensor's tile from memory: chunks of every kCopyRows-th row. As
/// kCopyRows is a multiple of 8 and a power of two, all its rows have one swizzle and differ in
/// bits above those of the first, so a copy's addresses are one register and an immediate, in any
/// Order.
template <int kThreads, typename Tensor, typename Order = InOrder>
struct Copier {
  using Rows = TileRows<Tensor::kColumns>;
  static constexpr int kCopyRows = kThreads / Rows::kSwizzleWays;
  static_assert(kCopyRows % 8 == 0 && (kCopyRows & (kCopyRows - 1)) == 0,
                "a thread's rows share their swizzle and differ in higher bits");
  int row;  // its first one of the tile
  int key;  // what belongs there, counted from the tile's first
  u32 to;   // shared address of its first chunk, in a tile at `shared`
  typename Tensor::Offset from;  // elements from the tensor's row that belongs to the tile's first

  DEVICE explicit Copier(u32 shared) {
    const int thread = static_cast<int>(threadIdx.x);
    row = thread / Rows::kSwizzleWays;
    key = Order::key(row);
    to = shared + Rows::chunk_offset(row, thread % Rows::kSwizzleWays);
    from = key * Tensor::kRow + column();
  }
  DEVICE static int column() {
    return static_cast<int>(threadIdx.x) % Rows::kSwizzleWays * kChunkColumns;
  }

  /// Copies kRows rows to the tile `tile` bytes after `shared`; `source` is the first of them plus
  /// `from`. Rows from `rows_left` on become zeros when kMayEnd: a masked P of 0 times a stray NaN
  /// would be NaN.
  template <int kRows, bool kMayEnd>
  DEVICE void copy(int tile, const elem* source, int rows_left) const {
#pragma unroll
    for (int pass = 0; pass < kRows; pass += kCopyRows) {
      if (kRows % kCopyRows != 0 && row + pass >= kRows) break;
      copy_row<kMayEnd>(tile + pass * Rows::kRowBytes, source + Order::key(pass) * Tensor::kRow,
                        key + Order::key(pass) < rows_left);
    }
  }

  /// The same of rows that lie anywhere: row r of the tile is `offset_of(r)` elements from `first`.
  template <int kRows, bool kMayEnd, typename OffsetOf>
  DEVICE void gather(int tile, const elem* first, int rows_left, OffsetOf offset_of) const {
#pragma unroll
    for (int pass = 0; pass < kRows; pass += kCopyRows) {
      if (kRows % kCopyRows != 0 && row + pass >= kRows) break;
      copy_row<kMayEnd>(tile + pass * Rows::kRowBytes, first + (offset_of(key + pass) + column()),
                        key + pass < rows_left);
    }
  }

 private:
  template <bool kMayEnd>
  DEVICE void copy_row(int tile, const elem* source, bool inside) const {
#pragma unroll
    for (int chunk = 0; chunk < Rows::kChunks; chunk += Rows::kSwizzleWays) {
      if constexpr (Rows::kFullChunks < Rows::kChunks) {
        cp_async_16_or_zero(to + tile + chunk * 16, source + chunk * kChunkColumns,
                            (!kMayEnd || inside) && Rows::has_elements(column(), chunk));
      } else if constexpr (kMayEnd) {
        cp_async_16_or_zero(to + tile + chunk * 16, source + chunk * kChunkColumns, inside);
      } else {
        cp_async_16(to + tile + chunk * 16, source + chunk * kChunkColumns);
      }
    }
  }
};
