// split.cuh: Attends by a CTA: its rows against one split of the keys, to partial O and row
// statistics. It is the first launch of fa_split and fa_split_fp8.
#pragma once

#include "common/combine_partial.cuh"
#include "common/launch.cuh"
#include "common/mma_bias.cuh"
#include "common/mma_epilogue.cuh"
#include "common/mma_modifiers.cuh"
#include "common/mma_products.cuh"
#include "common/mma_softmax.cuh"
#include "common/row_copier.cuh"
#include "common/softcap.cuh"
#include "common/swizzled_tile.cuh"

constexpr int kThreads = NUM_WARPS * 32;
constexpr int kRowWarps = NUM_WARPS / INTRA_CTA_SPLITS;  // warps of a group: they divide the rows
constexpr int kSplitThreads = kRowWarps * 32;
constexpr int kMTiles = BLOCK_M / (16 * kRowWarps);  // 16-row tiles of a warp
constexpr int kSplitKeys = BLOCK_N / INTRA_CTA_SPLITS;  // keys of a KV block that one group sees
constexpr int kNTiles = kSplitKeys / 8;                 // 8-key tiles of its S
template <typename Tensor>  // a group's share of one KV block of K or of V
constexpr int kStageBytes = kSplitKeys * TileRows<Tensor::kColumns>::kRowBytes;
constexpr int kVOffset = STAGES * kStageBytes<KTensor>;  // of STAGES stages of V behind those of K
constexpr int kGroupBytes = kVOffset + STAGES * kStageBytes<VTensor>;  // these lie behind Q

constexpr int kRows = kHeadGroup * SEQ_Q;  // of one key/value head, head by head
constexpr int kRowTiles = ceil_div(kRows, BLOCK_M);
constexpr int kFirstBlock = key_begin(0) / BLOCK_N;
constexpr int kNBlocks = ceil_div(key_end(SEQ_Q - 1), BLOCK_N) - kFirstBlock;
constexpr bool kRaggedRows = kRows % BLOCK_M != 0;
constexpr bool kRaggedKeys = SEQ_KV % BLOCK_N != 0;
// A mask hides keys of the KV blocks; of a diagonal alone, the last query sees all of them.
constexpr bool kHidesKeys =
    kLengths || kBoundedBefore || (kBoundedAfter && (SEQ_Q > 1 || DIAGONAL + 1 < SEQ_KV));
constexpr bool kAnyMask = kHidesKeys || kRaggedKeys;

static_assert(kMTiles * 16 * kRowWarps == BLOCK_M, "every warp owns whole 16-row tiles");
static_assert(kSplitKeys * INTRA_CTA_SPLITS == BLOCK_N && kSplitKeys % (8 * kPTiles) == 0,
              "16 keys are one k-step of PV, or 32 of fp8");

using WarpState = State<kMTiles, kDTiles>;
using WarpScores = Scores<kMTiles, kNTiles>;
using WarpP = PFragment<kMTiles, kNTiles>;
using CtaExchange = Exchange<BLOCK_M, INTRA_CTA_SPLITS>;
static_assert(Q_BYTES + max_of(INTRA_CTA_SPLITS * kGroupBytes, CtaExchange::kBytes) ==
                      SHARED_BYTES &&
                  Q_BYTES == BLOCK_M * kRowBytes,
              "the launch asks for what is laid out here");

/// The hardware barriers beside __syncthreads (0).
enum class NamedBarrier : int {
  kSplit = 1,  // one for each group of warps
};

/// A barrier of one group's threads, which also orders their use of shared memory.
DEVICE void sync_split(int group) {
  if constexpr (kRowWarps == 1) {
    __syncwarp();
  } else {
    const int id = static_cast<int>(NamedBarrier::kSplit) + group;
    asm volatile("bar.sync %0, %1;" ::"r"(id), "n"(kSplitThreads) : "memory");
  }
}

/// Neighbouring CTAs have the row tiles of one split of the keys: all but one read it from L2.
DEVICE Place place_of_thread() {
  const int warp = static_cast<int>(threadIdx.x) / 32;
  Place place;
  place.lane = static_cast<int>(threadIdx.x) % 32;
  place.split = warp / kRowWarps;
  place.first_row = warp % kRowWarps * 16 * kMTiles;
  place.block_row = static_cast<int>(blockIdx.x) % kRowTiles * BLOCK_M;
  place.head = static_cast<int>(blockIdx.x) / (kRowTiles * NUM_SPLITS);  // of keys and values
  return place;
}

DEVICE int cta_split() { return static_cast<int>(blockIdx.x) / kRowTiles % NUM_SPLITS; }

/// The KV blocks of one split; none when there are fewer blocks than splits.
struct SplitRange {
  int first;
  int count;

  DEVICE explicit SplitRange(int split) {
    constexpr int kEach = kNBlocks / NUM_SPLITS;
    constexpr int kMore = kNBlocks % NUM_SPLITS;
    first = kFirstBlock + split * kEach + min(split, kMore);
    count = kEach + (split < kMore ? 1 : 0);
  }

  /// Leaves out KV blocks at both ends that have none of these keys.
  DEVICE void narrow(int begin, int end) {
    const int last = min(first + count, ceil_div(end, BLOCK_N));
    first = max(first, begin / BLOCK_N);
    count = max(0, last - first);
  }
};

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

  template <typename Tensor>
  DEVICE void load(const RowCopier<kSplitThreads, Tensor>& copier, const elem* tensor,
                   int offset_of_stages, int iteration, int stage) const {
    if (iteration < count) {
      const elem* source = tensor + i64{iteration} * (BLOCK_N * Tensor::kRow);
      asm("" : "+l"(source));  // one address, kept; else the compiler sums anew for every copy
      const int keys_left = SEQ_KV - first_key - iteration * BLOCK_N;
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
    const int key = pipeline.first_key + iteration * BLOCK_N;
    const int lane_key = key + place.lane % 4 * 2;
    change_scores(scores, pipeline.modifiers, place, lane_key);
    if (kAnyMask && (key + kSplitKeys > by_all.end ||
                     ((kLengths || kBoundedBefore) && key < by_all.begin))) {
      const int lane_row = place.block_row + place.row(0, 0);
      mask_by_range(scores, lane_key, [&](int m, int half) {
        return keys_of(pipeline.modifiers, place, (lane_row + 16 * m + 8 * half) % SEQ_Q);
      });
    }
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

DEVICE void attend_split(const elem* __restrict__ q, const elem* __restrict__ k,
                         const elem* __restrict__ v, float* __restrict__ partial,
                         float2* __restrict__ stats,
                         const Descales& descales, const Modifiers& modifiers = {}) {
  extern __shared__ __align__(128) u8 shared[];
  const u32 base = shared_address(shared);
  const Place place = place_of_thread();
  SplitRange range(cta_split());
  if (kLengths) {
    grid_dependency_wait();
    range.narrow(keys_of(modifiers, place, 0).begin, keys_of(modifiers, place, SEQ_Q - 1).end);
  }

  const int thread = static_cast<int>(threadIdx.x);
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
                          first_key, range.count, place.split, modifiers};
  pipeline.start();

  const u32 q_rows = base + place.first_row * kRowBytes;
  const Operands operands{QueryRows<kMTiles, Q_IN_REGS>(row_fragments(q_rows, place.lane)),
                          key_fragments(stages, place.lane),
                          value_fragments(stages + kVOffset, place.lane)};
  WarpState state(kAnyMask || kBias);
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
