// split.cuh: Attends by a CTA: its rows against one split of the keys, to partial O and row
// statistics. It is the first launch of fa_split and fa_split_fp8.
#pragma once

#include "common/launch.cuh"
#include "common/mma_bias.cuh"
#include "common/mma_products.cuh"
#include "common/softcap.cuh"
#include "fa_split/work_tile.cuh"

#if MASK_EXPR
#define LISTED_BLOCK(of, nth) (of).blocks->block((of).first_listed + (nth))
#else
#define LISTED_BLOCK(of, nth) (nth)
#endif

/// K and V of a group of warps on their way through its stages. Iteration i uses stage i % STAGES
/// of K and of V; the groups of copies are Q K0 | V0 | K1 | V1 ..., 2 * STAGES of them in flight at
/// most.
struct Pipeline {
  RowCopier<kSplitThreads, KTensor> k_copier;
  RowCopier<kSplitThreads, VTensor> v_copier;
  const elem* k;  // of the group's first key, plus the copier's `from`
  const elem* v;
  int first_key;
  int count;
  int group;
  Modifiers modifiers;
#if MASK_EXPR
  const BlockList* blocks;
  int first_listed;  // of this split's
#endif

  template <typename Tensor>
  DEVICE void load(const RowCopier<kSplitThreads, Tensor>& copier, const elem* tensor,
                   int offset_of_stages, int iteration, int stage) const {
    if (iteration < count) {
      const int block = LISTED_BLOCK(*this, iteration);
      const elem* source = tensor + i64{block} * (BLOCK_N * Tensor::kRow);
      asm("" : "+l"(source));  // one address, kept; else the compiler sums anew for every copy
      const int keys_left = SEQ_KV - first_key - block * BLOCK_N;
      copier.template copy<kSplitKeys, kRaggedKeys>(
          offset_of_stages + stage * kStageBytes<Tensor>, source, keys_left);
    }
    cp_async_commit();
  }

  DEVICE void start() const {
#pragma unroll
    for (int iteration = 0; iteration < STAGES; ++iteration) {
      load(k_copier, k, 0, iteration, iteration);
      load(v_copier, v, kVOffset, iteration, iteration);
    }
    cp_async_wait<2 * STAGES - 1>();
    __syncthreads();  // all groups read Q
  }

  /// Between QK^T and PV of an iteration: waits for its V, refills the stage of K.
  DEVICE void between_gemms(int iteration, int stage) const {
    cp_async_wait<2 * STAGES - 2>();
    sync_split(group);
    load(k_copier, k, 0, iteration + STAGES, stage);
  }

  /// After an iteration: waits for K of the next, refills the stage of V.
  DEVICE void after_iteration(int iteration, int stage) const {
    cp_async_wait<2 * STAGES - 2>();
    sync_split(group);
    load(v_copier, v, kVOffset, iteration + STAGES, stage);
  }
};

/// What a warp's mmas read: its rows of Q, stage 0 of its group's K and V.
struct Operands {
  QueryRows<kMTiles, Q_IN_REGS> q;
  Fragments<KeyRows> k;
  Fragments<ValueRows> v;
};

/// The keys that a query of a key/value head sees.
DEVICE KeyRange keys_of(const Modifiers& modifiers, const Place& place, int position) {
#if LENGTHS
  return seen_keys(modifiers.lengths, place.head / KV_HEADS, position);
#else
  (void)modifiers, (void)place;
  return {key_begin(position), key_end(position)};
#endif
}

#if MASK_EXPR || SCORE_EXPR
/// The place of a row of a key/value head's tiles.
DEVICE RowPlace row_place(const Place& place, int row) {
  const int head = place.head % KV_HEADS * kHeadGroup + row / SEQ_Q % kHeadGroup;
  return {place.head / KV_HEADS, head, row % SEQ_Q};
}
#endif

/// Changes S before it is masked; `key` is that of this lane's first element.
DEVICE void change_scores(WarpScores& scores, const Modifiers& modifiers, const Place& place,
                          int key) {
  if (kSoftcap) cap_scores(scores);
  const int lane_row = place.block_row + place.row(0, 0);
#if BIAS
  add_bias(scores, key, [&](int below) {
    const int row = min(lane_row + below, kRows - 1);
    return bias_row(modifiers.bias, place.head * kHeadGroup + row / SEQ_Q, row % SEQ_Q);
  });
#endif
#if ALIBI
  add_alibi(scores, [&](int below) {
    const int row = lane_row + below;
    return AlibiRow{modifiers.slope(place.head * kHeadGroup + row / SEQ_Q % kHeadGroup),
                    row % SEQ_Q + (SEQ_KV - SEQ_Q) - key};
  });
#endif
#if SCORE_EXPR
  change_by_expression(scores, key,
                       [&](int below) {
                         return row_place(place, lane_row + below);
                       } WITH_TENSORS(modifiers.tensors));
#endif
  (void)modifiers, (void)lane_row, (void)key;
}

DEVICE void mainloop(WarpState& state, const Pipeline& pipeline, const Operands& operands,
                       const Place& place) {
  // The keys that all queries see.
  const KeyRange by_all{keys_of(pipeline.modifiers, place, SEQ_Q - 1).begin,
                        keys_of(pipeline.modifiers, place, 0).end};
  int stage = 0;
#pragma unroll 1
  for (int iteration = 0; iteration < pipeline.count; ++iteration) {
    WarpScores scores;
    multiply_qk(scores, operands.q, operands.k.in_stage(stage * kStageBytes<KTensor>));
    pipeline.between_gemms(iteration, stage);
    const int key = pipeline.first_key + LISTED_BLOCK(pipeline, iteration) * BLOCK_N;
    const int lane_key = key + place.lane % 4 * 2;
    change_scores(scores, pipeline.modifiers, place, lane_key);
    if (kAnyMask && (key + kSplitKeys > by_all.end ||
                     ((kLengths || kBoundedBefore) && key < by_all.begin))) {
      const int lane_row = place.block_row + place.row(0, 0);
      mask_by_range(scores, lane_key, [&](int m, int half) {
        return keys_of(pipeline.modifiers, place, (lane_row + 16 * m + 8 * half) % SEQ_Q);
      });
    }
#if MASK_EXPR
    if (pipeline.blocks->is_partial(LISTED_BLOCK(pipeline, iteration))) {
      mask_by_expression(scores, lane_key, [&](int below) {
        return row_place(place, place.block_row + place.row(0, 0) + below);
      } WITH_TENSORS(pipeline.modifiers.tensors));
    }
#endif
    WarpP p;
    online_softmax<Rescale::kLazy>(p, state, scores, iteration == 0);
    multiply_pv(state, p, operands.v.in_stage(stage * kStageBytes<VTensor>));
    pipeline.after_iteration(iteration, stage);
    stage = stage + 1 == STAGES ? 0 : stage + 1;
  }
}

/// The partial rows of this CTA's split: O not yet divided, row_max and row_sum.
struct PartialRows {
  float* out;
  float2* stats;

  DEVICE PartialRows(float* all_out, float2* all_stats, const Place& place) {
    const i64 first = (i64{place.head} * kRows + place.block_row) * NUM_SPLITS + cta_split();
    out = all_out + first * VALUE_DIM;
    stats = all_stats + first;
  }
};

/// Combines the groups' partial O of one row tile's half, and writes the column tiles that this
/// group finishes.
DEVICE void write_row(const PartialRows& partial, const CtaExchange& exchange,
                      const WarpState& state, const Place& place, int m, int half) {
  const int row = place.row(m, half);
  const RowCombine<INTRA_CTA_SPLITS> combine = exchange.combine(place.split, row);
  if (kRaggedRows && place.block_row + row >= kRows) return;
  if (place.split == 0 && place.lane % 4 == 0)
    partial.stats[row * NUM_SPLITS] = make_float2(combine.row_max, combine.row_sum);
  float* const target =
      partial.out + row * (NUM_SPLITS * VALUE_DIM) + place.lane % 4 * (kIs16Bit ? 2 : 4);
  [[maybe_unused]] float2 even;
#pragma unroll
  for (int d = 0; d < kDTiles; ++d) {
    if (finisher<INTRA_CTA_SPLITS>(d) != place.split) continue;
    float2 pair = make_float2(state.acc_o[m][d][2 * half] * combine.factor[0],
                              state.acc_o[m][d][2 * half + 1] * combine.factor[0]);
#pragma unroll
    for (int distance = 1; distance < INTRA_CTA_SPLITS; ++distance) {
      const float2 other =
          reinterpret_cast<const float2*>(&exchange.partial_o(place, distance, m, d))[half];
      pair.x += other.x * combine.factor[distance];
      pair.y += other.y * combine.factor[distance];
    }
    if constexpr (kIs16Bit) {
      *reinterpret_cast<float2*>(target + 8 * d) = pair;
    } else if (d % 2 == 0) {
      even = pair;
    } else {
      *reinterpret_cast<float4*>(target + 8 * (d - 1)) =
          make_float4(even.x, pair.x, even.y, pair.y);
    }
  }
}

/// `first_row` is the tile's first one, counted over all heads.
DEVICE void load_queries(const RowCopier<kThreads, QTensor>& copier, const elem* q, i64 first_row,
                         const Place& place) {
  const int rows_left = kRows - place.block_row;
  if constexpr (QTensor::kEvenHeads && QTensor::kEvenRows) {
    copier.copy<BLOCK_M, kRaggedRows>(0, q + (first_row * QTensor::kRow + copier.from), rows_left);
  } else {
    const elem* const head = q + QTensor::head(place.head * kHeadGroup);
    copier.gather<BLOCK_M, kRaggedRows>(0, head, rows_left, [&](int row_of_tile) {
      const int row = place.block_row + row_of_tile;
      return row / SEQ_Q * QTensor::kHead + row % SEQ_Q * i64{QTensor::kRow};
    });
  }
}

#if MASK_EXPR
/// By one warp: lists those of the KV blocks that the tile's rows see.
DEVICE void list_blocks(BlockList& blocks, const SplitRange& range,
                        const Place& place TENSORS_PARAMETER) {
  const RowPlace front = row_place(place, place.block_row);
  const RowPlace back = row_place(place, min(place.block_row + BLOCK_M, kRows) - 1);
  const Interval<i32> rows = front.head == back.head ? Interval<i32>{front.row, back.row}
                                                     : Interval<i32>{0, SEQ_Q - 1};
  blocks.fill(range.first * BLOCK_N, range.count, front.batch, {front.head, back.head},
              rows WITH_TENSORS(tensors));
}
#endif

DEVICE void attend_split(const elem* __restrict__ q, const elem* __restrict__ k,
                         const elem* __restrict__ v, float* __restrict__ partial,
                         float2* __restrict__ stats,
                         const Descales& descales, const Modifiers& modifiers = {}) {
  extern __shared__ __align__(128) u8 shared[];
  const u32 base = shared_address(shared);
  const Place place = place_of_thread();
  SplitRange range(cta_split());
#if MASK_EXPR
  range.first = kFirstBlock;
  range.count = kNBlocks;
#endif
  if (kLengths || kTensors) grid_dependency_wait();
  if (kLengths) {
    range.narrow(keys_of(modifiers, place, 0).begin, keys_of(modifiers, place, SEQ_Q - 1).end);
  }

  const int thread = static_cast<int>(threadIdx.x);
#if MASK_EXPR
  BlockList& blocks = *reinterpret_cast<BlockList*>(shared + SHARED_BYTES - BLOCK_LIST_BYTES);
  if (thread < 32) list_blocks(blocks, range, place WITH_TENSORS(modifiers.tensors));
  __syncthreads();
  const SplitRange listed = SplitRange(blocks.count, cta_split());
  range.count = listed.count;
#endif
  const RowCopier<kThreads, QTensor> q_copier(base, thread);
  const i64 first_row = i64{place.head} * kRows + place.block_row;
  grid_dependency_wait();
  launch_dependents();
  load_queries(q_copier, q, first_row, place);

  const u32 stages = base + Q_BYTES + place.split * kGroupBytes;
  const RowCopier<kSplitThreads, KTensor> k_copier(stages, thread % kSplitThreads);
  const RowCopier<kSplitThreads, VTensor> v_copier(stages, thread % kSplitThreads);
  const int first_key = range.first * BLOCK_N + place.split * kSplitKeys;
  const elem* k_keys = k + (KTensor::row(place.head, first_key) + k_copier.from);
  const elem* v_keys = v + (VTensor::row(place.head, first_key) + v_copier.from);
  const Pipeline pipeline{k_copier,  v_copier,    k_keys,      v_keys,
                          first_key, range.count, place.split, modifiers
#if MASK_EXPR
                          , &blocks, listed.first
#endif
  };
  pipeline.start();

  const u32 q_rows = base + place.first_row * kRowBytes;
  const Operands operands{QueryRows<kMTiles, Q_IN_REGS>(row_fragments(q_rows, place.lane)),
                          key_fragments(stages, place.lane),
                          value_fragments(stages + kVOffset, place.lane)};
  WarpState state(kAnyMask || kBias || kScoreExpr);
  state.set_scale(descales.scores(place.head * kHeadGroup));
#if SINK
  const int row = place.block_row + place.row(0, 0);
  if (cta_split() == 0 && place.split == 0) {
    begin_with_sink(state, place.lane, [&](int below) {
      return modifiers.sink_score(place.head * kHeadGroup + (row + below) / SEQ_Q % kHeadGroup);
    });
  }
#endif
  mainloop(state, pipeline, operands, place);
  descale(state, descales.out(place.head * kHeadGroup));
#pragma unroll
  for (int m = 0; m < kMTiles; ++m) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      state.row_sum[m][half] = warp_sum<4>(state.row_sum[m][half]);
    }
  }

  const CtaExchange exchange{shared + Q_BYTES};
  __syncthreads();  // every warp is done with its stages, whose place the exchange takes
  publish(exchange, state, place);
  __syncthreads();
  const PartialRows rows(partial, stats, place);
#pragma unroll
  for (int m = 0; m < kMTiles; ++m) {
#pragma unroll
    for (int half = 0; half < 2; ++half) write_row(rows, exchange, state, place, m, half);
  }
}
