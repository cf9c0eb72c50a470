// attend.cuh: Attends by a CTA: its query rows against the KV blocks of their head, for fa_mma and
// fa_mma_fp8. A kernel defines kRescale first.
#pragma once

#include "common/launch.cuh"
#include "common/mma_bias.cuh"
#include "common/mma_products.cuh"
#include "common/softcap.cuh"
#include "fa_mma/work_tile.cuh"

/// K and V of one head on their way through shared memory. Iteration i uses stage i % STAGES of
/// both.
struct Pipeline {
  CtaCopier<KTensor> k_copier;
  CtaCopier<VTensor> v_copier;
  const elem* k;
  const elem* v;
  i64 k_offset, v_offset;  // of the head's first key, plus the copier's `from`
  int count;
  int first_block;
  Modifiers modifiers;
#if MASK_EXPR
  const BlockList* blocks;  // counted from first_block

  DEVICE bool is_partial(int iteration) const {
    return blocks->is_partial(n_block_of(iteration) - first_block);
  }
#endif

  DEVICE int n_block_of(int iteration) const {
    const int nth = KV_ORDER == KV_ORDER_FORWARD ? iteration : count - 1 - iteration;
#if MASK_EXPR
    return first_block + blocks->block(nth);
#endif
    return kLengths || kBoundedBefore ? first_block + nth : nth;
  }

  template <typename Tensor>
  DEVICE void load(const CtaCopier<Tensor>& copier, const elem* tensor, i64 from,
                   int offset_of_stages, int iteration, int stage) const {
    if (iteration >= count) return;
    const int first_key = n_block_of(iteration) * BLOCK_N;
    // Else the compiler holds one address for K and one for V all the time.
    if (kFewRegisters) asm volatile("" : "+l"(from));
    const elem* source = tensor + (from + i64{first_key} * Tensor::kRow);
    asm("" : "+l"(source));  // one address, kept; else it sums anew for every copy
    copier.template copy<BLOCK_N, kRaggedKeys>(offset_of_stages + stage * kStageBytes<Tensor>,
                                               source, SEQ_KV - first_key);
  }
  DEVICE void load_k(int iteration, int stage) const {
    load(k_copier, k, k_offset, kKOffset, iteration, stage);
  }
  DEVICE void load_v(int iteration, int stage) const {
    load(v_copier, v, v_offset, kVOffset, iteration, stage);
  }

  /// With one stage the groups of copies are Q K0 | V0 | K1 | V1 ...; with more, Q K0 | V0 K1 |
  /// V1 K2 ..., STAGES of them ahead.
  DEVICE void start() const {
    load_k(0, 0);
    cp_async_commit();
#pragma unroll
    for (int ahead = 1; ahead < max_of(STAGES, 2); ++ahead) {
      load_v(ahead - 1, ahead - 1);
      if (STAGES > 1) load_k(ahead, ahead);
      cp_async_commit();
    }
    cp_async_wait<max_of(STAGES, 2) - 1>();
    __syncthreads();
  }

  /// Between QK^T and PV of an iteration: waits for its V (and K of the next), refills the stage of
  /// K.
  DEVICE void between_gemms(int iteration, int stage) const {
    cp_async_wait<max_of(STAGES, 2) - 2>();
    __syncthreads();
    if (STAGES > 1) load_v(iteration - 1 + STAGES, stage == 0 ? STAGES - 1 : stage - 1);
    load_k(iteration + STAGES, stage);
    cp_async_commit();
  }

  /// After an iteration, with one stage: waits for K of the next, refills the stage of V.
  DEVICE void after_iteration(int iteration) const {
    if (STAGES > 1) return;
    cp_async_wait<0>();
    __syncthreads();
    load_v(iteration + 1, 0);
    cp_async_commit();
  }
};

/// Changes scores before their mask: those of the keys from `key` on, of the warp whose first row
/// is `row`.
DEVICE void change_scores(WarpScores& scores, const Pipeline& pipeline, const Place& place, int row,
                          int key) {
  if (kSoftcap) cap_scores(scores);
  const int lane_row = row + place.lane / 4;
#if BIAS
  add_bias(scores, key + place.lane % 4 * 2, [&](int below) {
    const int of_pack = lane_row + below;
    return bias_row(pipeline.modifiers.bias, place.head * kPack + of_pack % kPack,
                    Rows::position(of_pack));
  });
#endif
#if ALIBI
  add_alibi(scores, [&](int below) {
    const int of_pack = lane_row + below;
    const int position = Rows::position(of_pack) + (SEQ_KV - SEQ_Q);
    return AlibiRow{pipeline.modifiers.slope(place.head * kPack + of_pack % kPack),
                    position - key - place.lane % 4 * 2};
  });
#endif
#if SCORE_EXPR
  change_by_expression(scores, key + place.lane % 4 * 2,
                       [&](int below) {
                         return row_place(place, lane_row + below);
                       } WITH_TENSORS(pipeline.modifiers.tensors));
#endif
  (void)pipeline, (void)lane_row, (void)key;
}

/// A KV block that every row sees.
DEVICE void mainloop_iteration(WarpState& state, const Pipeline& pipeline, const Operands& operands,
                       int iteration, int stage) {
  WarpScores scores;
  multiply_qk(scores, operands.q, operands.k(stage));
  pipeline.between_gemms(iteration, stage);
  if (kChangesScores) {
    const Place place = place_of_thread();
    change_scores(scores, pipeline, place, place.block_row + place.first_row,
                  pipeline.n_block_of(iteration) * BLOCK_N + place.split * kWarpKeys);
  }
  WarpP p;
  online_softmax<kRescale>(p, state, scores, iteration == 0);
  multiply_pv(state, p, operands.v(stage));
  pipeline.after_iteration(iteration);
}

/// Whether a row of a warp, the first of which is `row`, sees one of its keys from `key` on.
DEVICE bool sees_any(const Modifiers& modifiers, const Place& place, int row, int key) {
  const int first = Rows::position(row), last = Rows::position(row + 16 * kMTiles - 1);
#if LENGTHS
  const int batch = place.head * kPack / HEADS;
  return key < seen_keys(modifiers.lengths, batch, last).end &&
         key + kWarpKeys > seen_keys(modifiers.lengths, batch, first).begin;
#else
  (void)modifiers, (void)place;
  return key < key_end(last) && (!kBoundedBefore || key + kWarpKeys > key_begin(first));
#endif
}

DEVICE void mask(WarpScores& scores, const Modifiers& modifiers, const Place& place, int row,
                 int key) {
  const int lane_row = row + place.lane / 4, lane_key = key + place.lane % 4 * 2;
#if LENGTHS
  mask_by_range(scores, lane_key, [&](int m, int half) {
    return seen_keys(modifiers.lengths, place.head * kPack / HEADS,
                     Rows::position(lane_row + 16 * m + 8 * half));
  });
#else
  (void)modifiers;
  mask_scores<kRaggedKeys, kPack>(scores, lane_row, lane_key);
#endif
}

/// A KV block that needs a mask; a warp whose rows see none of its keys only takes part in the
/// barriers.
DEVICE void masked_iteration(WarpState& state, const Pipeline& pipeline, const Operands& operands,
                         int iteration, int stage) {
  const Place place = place_of_thread();
  const int key = pipeline.n_block_of(iteration) * BLOCK_N + place.split * kWarpKeys;
  const int row = place.block_row + place.first_row;
  if (sees_any(pipeline.modifiers, place, row, key)) {
    WarpScores scores;
    multiply_qk(scores, operands.q, operands.k(stage));
    pipeline.between_gemms(iteration, stage);
    if (kChangesScores) change_scores(scores, pipeline, place, row, key);
    mask(scores, pipeline.modifiers, place, row, key);
#if MASK_EXPR
    if (pipeline.is_partial(iteration)) {
      mask_by_expression(scores, key + place.lane % 4 * 2, [&](int below) {
        return row_place(place, row + place.lane / 4 + below);
      } WITH_TENSORS(pipeline.modifiers.tensors));
    }
#endif
    WarpP p;
    online_softmax<kRescale>(p, state, scores, iteration == 0);
    multiply_pv(state, p, operands.v(stage));
  } else {
    pipeline.between_gemms(iteration, stage);
  }
  pipeline.after_iteration(iteration);
}

template <bool kMasked>
DEVICE void iterate(WarpState& state, const Pipeline& pipeline, const Operands& operands,
                        int from, int to, int& stage) {
#pragma unroll 1
  for (int iteration = from; iteration < to; ++iteration) {
    if constexpr (kMasked) {
      masked_iteration(state, pipeline, operands, iteration, stage);
    } else {
      mainloop_iteration(state, pipeline, operands, iteration, stage);
    }
    stage = stage + 1 == STAGES ? 0 : stage + 1;
  }
}

/// The same where KV blocks in front of the unmasked ones need a mask, too.
DEVICE void iterate_window(WarpState& state, const Pipeline& pipeline, const Operands& operands,
                           const NBlocks& n_blocks) {
  int stage = 0;
#pragma unroll 1
  for (int iteration = 0; iteration < n_blocks.count; ++iteration) {
    const int block = pipeline.n_block_of(iteration) - n_blocks.first;
    bool masked = block < n_blocks.unmasked || block >= n_blocks.unmasked_end;
#if MASK_EXPR
    masked = masked || pipeline.is_partial(iteration);
#endif
    if (masked) {
      masked_iteration(state, pipeline, operands, iteration, stage);
    } else {
      mainloop_iteration(state, pipeline, operands, iteration, stage);
    }
    stage = stage + 1 == STAGES ? 0 : stage + 1;
  }
}

DEVICE Operands start_operands(u32 shared, const Place& place) {
  const int keys = place.split * kWarpKeys * kRowBytes;
  const int values = place.split * kWarpKeys * kValueRowBytes;
  const u32 rows = shared + place.first_row * kRowBytes;
  return {QueryRows<kMTiles, Q_IN_REGS>(row_fragments(rows, place.lane)),
          key_fragments(shared + kKOffset + keys, place.lane),
          value_fragments(shared + kVOffset + values, place.lane)};
}

/// Packed rows are gathered, which the copier of any tensor does.
DEVICE void load_queries(const CtaCopier<QTensor>& copier, const CtaCopier<KTensor>& gatherer,
                         const elem* q, const Place& place) {
  const elem* const head = q + QTensor::row(Rows::first_place(place.head));
  const int rows_left = Rows::kRows - place.block_row;
  if constexpr (kPack == 1) {
    const i64 first = Rows::offset<QTensor>(place.block_row) + copier.from;
    copier.copy<BLOCK_M, kRaggedRows>(0, head + first, rows_left);
  } else {
    gatherer.gather<BLOCK_M, kRaggedRows>(
        0, head, rows_left, [&](int row) { return Rows::offset<QTensor>(place.block_row + row); });
  }
}

DEVICE void attend(const elem* q, const elem* k, const elem* v, out_elem* out, float* lse,
                   const Descales& descales, const Modifiers& modifiers = {}) {
  extern __shared__ __align__(128) u8 shared[];
  const u32 base = shared_address(shared);
  const Place place = place_of_thread();
  if (kLengths || kTensors) grid_dependency_wait();
  NBlocks n_blocks = n_blocks_of(place.block_row, modifiers, place.head * kPack / HEADS);
#if MASK_EXPR
  BlockList& blocks = *reinterpret_cast<BlockList*>(shared + kSharedBytes - kBlockListBytes);
  if (threadIdx.x < 32) list_blocks(blocks, n_blocks, place WITH_TENSORS(modifiers.tensors));
  __syncthreads();
  n_blocks.count = blocks.count;
#endif

  const CtaCopier<KTensor> k_copier(base);
  const CtaCopier<VTensor> v_copier(base);
  const CtaCopier<QTensor> q_copier(base);
  grid_dependency_wait();
  launch_dependents();
  load_queries(q_copier, k_copier, q, place);
  const int kv_head = Rows::kv_head(place.head);
  const i64 k_offset = KTensor::head(kv_head) + k_copier.from;
  const i64 v_offset = VTensor::head(kv_head) + v_copier.from;
  const Pipeline pipeline{k_copier, v_copier, k, v, k_offset, v_offset,
                          n_blocks.count, n_blocks.first, modifiers
#if MASK_EXPR
                          , &blocks
#endif
  };
  pipeline.start();

  const Operands operands = start_operands(base, place);
  WarpState state(kAnyMask || kBias || kScoreExpr);
  state.set_scale(descales.scores(place.head * kPack));
#if SINK
  const int first_row = place.block_row + place.first_row + place.lane / 4;
  if (place.split == 0) {
    begin_with_sink(state, place.lane, [&](int below) {
      return modifiers.sink_score(place.head * kPack + (first_row + below) % kPack);
    });
  }
#endif
#if KEYS_BEFORE >= 0 || LENGTHS || MASK_EXPR
  iterate_window(state, pipeline, operands, n_blocks);
#elif KV_ORDER == KV_ORDER_FORWARD
  int stage = 0;
  const int unmasked = n_blocks.unmasked_end;
  iterate<false>(state, pipeline, operands, 0, unmasked, stage);
  if (kAnyMask) iterate<true>(state, pipeline, operands, unmasked, n_blocks.count, stage);
#else
  int stage = 0;
  const int masked = n_blocks.count - n_blocks.unmasked_end;
  if (kAnyMask) iterate<true>(state, pipeline, operands, 0, masked, stage);
  iterate<false>(state, pipeline, operands, masked, n_blocks.count, stage);
#endif
  const Place end = place_of_thread();
  descale(state, descales.out(end.head * kPack));
  u8* const spare = shared + kKOffset;
  store_o<BLOCK_M, INTRA_CTA_SPLITS, kThreads, kPack>(
      out + OutTensor::row(Rows::first_place(end.head)), shared, spare, state, end);
#if LSE
  store_lse<BLOCK_M, INTRA_CTA_SPLITS, kPack>(lse + Rows::first_place(end.head), spare, state, end);
#endif
}
