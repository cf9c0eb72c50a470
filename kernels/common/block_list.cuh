// block_list.cuh: Lists the KV blocks of which a tile's rows see keys, where the mask has an
// expression.
#pragma once

#include "common/expression.cuh"

#if MASK_EXPR
/// In shared memory: one warp fills it, all read it behind a barrier.
struct BlockList {
  static constexpr int kMost = ceil_div(SEQ_KV, BLOCK_N) + 1;
  i32 count;
  u32 partial[ceil_div(kMost, 32)];     // a bit for each block
  u16 blocks[ceil_div(kMost, 2) * 2];

  DEVICE int block(int nth) const { return blocks[nth]; }
  /// Whether some row may not see some key of the block.
  DEVICE bool is_partial(int block) const { return (partial[block / 32] >> block % 32 & 1) != 0; }

  /// By all lanes of a warp. Looks at `most` blocks; the keys of the first begin with `first_key`.
  DEVICE void fill(int first_key, int most, Interval<i32> batch, Interval<i32> heads,
                   Interval<i32> rows TENSORS_PARAMETER) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    int found = 0;
#pragma unroll 1
    for (int begin = 0; begin < most; begin += 32) {
      const int block = begin + lane;
      const int key = min_of(first_key + block * BLOCK_N, SEQ_KV - 1);
      const Interval<i32> keys{key, min_of(key + BLOCK_N, SEQ_KV) - 1};
#if TENSORS
      TensorRanges ranges{tensors};
      const Interval<i32> computed = mask_expression(batch, heads, rows, keys, ranges);
      const Interval<i32> shown = ranges.known ? computed : Interval<i32>{0, 1};
#else
      const Interval<i32> shown = mask_expression(batch, heads, rows, keys);
#endif
      const bool listed = block < most && shown.ever();
      const u32 all = __ballot_sync(0xffffffffu, listed);
      const u32 partly = __ballot_sync(0xffffffffu, !shown.always());
      const int before = found + __popc(all & ((1u << lane) - 1));
      if (listed) blocks[before] = static_cast<u16>(block);
      if (lane == 0) partial[begin / 32] = partly;
      found += __popc(all);
    }
    if (lane == 0) count = found;
  }
};
static_assert(BlockList::kMost < 1 << 16, "a block's number has 16 bits");
static_assert(sizeof(BlockList) == BLOCK_LIST_BYTES, "the launch asks for what is laid out here");
#endif
