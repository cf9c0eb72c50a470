// fa_split.cu - attention forward for few query rows and long keys (decoding): slices of the keys
// to partial outputs, then partial outputs to rows of out.
//
// The query heads that share a key/value head are packed as rows of one tile, so K and V are read
// once. fa_split: one block owns BLOCK_M packed rows and one of SPLITS slices of the keys; its
// warps form KV_GROUPS groups, each with a ring of its own in shared memory, which runs without
// barriers among them. fa_split_combine: SPLITS partial rows become one. notes.md has the layouts.
#include "common/launch.cuh"
#include "common/lse.cuh"
#include "common/mma_epilogue.cuh"
#include "common/mma_products.cuh"
#include "common/mma_softmax.cuh"
#include "common/row_copier.cuh"
#include "common/row_join.cuh"
#include "common/swizzled_tile.cuh"

constexpr int kThreads = NUM_WARPS * 32;
constexpr int kRowWarps = NUM_WARPS / KV_GROUPS;  // warps of a group: they divide the rows
constexpr int kGroupThreads = kRowWarps * 32;
constexpr int kMTiles = BLOCK_M / (16 * kRowWarps);  // 16-row tiles of a warp
constexpr int kGroupKeys = BLOCK_N / KV_GROUPS;      // keys of a tile that one group sees
constexpr int kNTiles = kGroupKeys / 8;              // 8-key tiles of its scores
constexpr int kQBytes = BLOCK_M * kRowBytes;
constexpr int kSlotBytes = kGroupKeys * kRowBytes;   // a group's share of one tile of K or of V
constexpr int kVRing = STAGES * kSlotBytes;          // a group's ring: STAGES slots of K, then of V
constexpr int kRingBytes = 2 * STAGES * kSlotBytes;  // shared memory: Q, then the groups' rings

constexpr int kRows = kHeadGroup * SEQ_Q;  // of one key/value head: they lie one behind the other
constexpr int kRowTiles = ceil_div(kRows, BLOCK_M);
constexpr int kKeyTiles = ceil_div(SEQ_KV, BLOCK_N);
constexpr bool kRaggedRows = kRows % BLOCK_M != 0;
constexpr bool kRaggedKeys = SEQ_KV % BLOCK_N != 0;
constexpr bool kDiagonal = CAUSAL != 0 && SEQ_Q > 1;  // the last query sees every key
constexpr bool kAnyMask = kDiagonal || kRaggedKeys;

static_assert(kMTiles * 16 * kRowWarps == BLOCK_M, "every warp owns whole 16-row tiles");
static_assert(kGroupKeys * KV_GROUPS == BLOCK_N && kGroupKeys % 16 == 0,
              "16 keys are one mma step of P V");

using WarpState = State<kMTiles, kDTiles>;
using WarpScores = Scores<kMTiles, kNTiles>;
using WarpWeights = Weights<kMTiles, kNTiles>;
using BlockExchange = Exchange<BLOCK_M, KV_GROUPS>;

/// A barrier of one group's threads, which also orders their use of shared memory.
DEVICE void sync_group(int group) {
  if constexpr (kRowWarps == 1) {
    __syncwarp();
  } else {
    asm volatile("bar.sync %0, %1;" ::"r"(group + 1), "n"(kGroupThreads) : "memory");
  }
}

/// Neighbouring blocks have the row tiles of one slice of the keys: all but one read it from L2.
DEVICE Place place_of_thread() {
  const int warp = static_cast<int>(threadIdx.x) / 32;
  Place place;
  place.lane = static_cast<int>(threadIdx.x) % 32;
  place.group = warp / kRowWarps;
  place.first_row = warp % kRowWarps * 16 * kMTiles;
  place.block_row = static_cast<int>(blockIdx.x) % kRowTiles * BLOCK_M;
  place.head = static_cast<int>(blockIdx.x) / (kRowTiles * SPLITS);  // of keys and values
  return place;
}

DEVICE int split_of_block() { return static_cast<int>(blockIdx.x) / kRowTiles % SPLITS; }

/// The tiles of keys of one split; none when there are fewer tiles than splits.
struct Slice {
  int first;
  int count;

  DEVICE explicit Slice(int split) {
    constexpr int kEach = kKeyTiles / SPLITS;
    constexpr int kMore = kKeyTiles % SPLITS;
    first = split * kEach + min(split, kMore);
    count = kEach + (split < kMore ? 1 : 0);
  }
};

/// A group's keys and values on their way through its ring. Visit i uses slot i % STAGES of K and
/// of V; the groups of copies are Q K0 | V0 | K1 | V1 ..., 2 * STAGES of them under way at most.
struct Stream {
  RowCopier<kGroupThreads> copier;
  const elem* k;  // of the group's first key, plus copier.from
  const elem* v;
  int first_key;
  int count;
  int group;

  DEVICE void load(const elem* tensor, int ring, int visit, int slot) const {
    if (visit < count) {
      const elem* source = tensor + i64{visit} * (BLOCK_N * HEAD_DIM);
      asm("" : "+l"(source));  // one address, kept; else the compiler sums anew for every copy
      const int keys_left = SEQ_KV - first_key - visit * BLOCK_N;
      copier.copy<kGroupKeys, kRaggedKeys>(ring + slot * kSlotBytes, source, keys_left);
    }
    cp_async_commit();
  }

  DEVICE void start() const {
#pragma unroll
    for (int visit = 0; visit < STAGES; ++visit) {
      load(k, 0, visit, visit);
      load(v, kVRing, visit, visit);
    }
    cp_async_wait<2 * STAGES - 1>();
    __syncthreads();  // Q is everybody's
  }

  /// Between the two products of a visit: V of this visit is here, K's slot is free again.
  DEVICE void between(int visit, int slot) const {
    cp_async_wait<2 * STAGES - 2>();
    sync_group(group);
    load(k, 0, visit + STAGES, slot);
  }

  /// After a visit: K of the next is here, V's slot is free again.
  DEVICE void after(int visit, int slot) const {
    cp_async_wait<2 * STAGES - 2>();
    sync_group(group);
    load(v, kVRing, visit + STAGES, slot);
  }
};

/// What a warp's products read: its rows of Q, slot 0 of its group's K and V.
struct Operands {
  QueryRows<kMTiles, Q_IN_REGS> q;
  Fragments k, v;
};

/// Scores of keys that a row may not see become -inf. `row` is the packed row of this lane's first
/// element, `key` its key.
DEVICE void hide_scores(WarpScores& scores, int row, int key) {
#pragma unroll
  for (int m = 0; m < kMTiles; ++m) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int visible = visible_keys((row + 16 * m + 8 * half) % SEQ_Q) - key;
#pragma unroll
      for (int n = 0; n < kNTiles; ++n) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          if (8 * n + i >= visible) scores.at[m][n][2 * half + i] = NEG_INF;
        }
      }
    }
  }
}

DEVICE void visit_keys(WarpState& state, const Stream& stream, const Operands& operands,
                       const Place& place) {
  int slot = 0;
#pragma unroll 1
  for (int visit = 0; visit < stream.count; ++visit) {
    WarpScores scores;
    multiply_qk(scores, operands.q, operands.k.in_slot(slot * kSlotBytes));
    stream.between(visit, slot);
    const int key = stream.first_key + visit * BLOCK_N;
    if (kAnyMask && key + kGroupKeys > visible_keys(0)) {
      hide_scores(scores, place.block_row + place.row(0, 0), key + place.lane % 4 * 2);
    }
    WarpWeights weights;
    soften<Rescale::kLazy, kAnyMask>(weights, state, scores, visit == 0);
    multiply_pv(state, weights, operands.v.in_slot(slot * kSlotBytes));
    stream.after(visit, slot);
    slot = slot + 1 == STAGES ? 0 : slot + 1;
  }
}

/// The partial rows of this block's slice: outputs as they were summed, and their peaks and sums.
struct PartialRows {
  float* out;
  float2* stats;

  DEVICE PartialRows(float* all_out, float2* all_stats, const Place& place) {
    const i64 first = (i64{place.head} * kRows + place.block_row) * SPLITS + split_of_block();
    out = all_out + first * HEAD_DIM;
    stats = all_stats + first;
  }
};

/// Joins the groups' outputs of one row tile's half, and writes the column tiles that this group
/// finishes.
DEVICE void write_row(const PartialRows& partial, const BlockExchange& exchange,
                      const WarpState& state, const Place& place, int m, int half) {
  const int row = place.row(m, half);
  const RowJoin<KV_GROUPS> join = exchange.join(place.group, row);
  if (kRaggedRows && place.block_row + row >= kRows) return;
  if (place.group == 0 && place.lane % 4 == 0)
    partial.stats[row * SPLITS] = make_float2(join.peak, join.sum);
  float* const target = partial.out + row * (SPLITS * HEAD_DIM) + place.lane % 4 * 2;
#pragma unroll
  for (int d = 0; d < kDTiles; ++d) {
    if (d % KV_GROUPS != place.group) continue;
    float2 pair = make_float2(state.out[m][d][2 * half] * join.factor[0],
                              state.out[m][d][2 * half + 1] * join.factor[0]);
#pragma unroll
    for (int distance = 1; distance < KV_GROUPS; ++distance) {
      const float2 other =
          reinterpret_cast<const float2*>(&exchange.piece(place, distance, m, d))[half];
      pair.x += other.x * join.factor[distance];
      pair.y += other.y * join.factor[distance];
    }
    *reinterpret_cast<float2*>(target + 8 * d) = pair;
  }
}

extern "C" __global__ void __launch_bounds__(kThreads, MIN_CTAS)
    fa_split(const elem* __restrict__ q, const elem* __restrict__ k, const elem* __restrict__ v,
             float* __restrict__ partial, float2* __restrict__ stats) {
  extern __shared__ __align__(128) u8 shared[];
  const u32 base = shared_address(shared);
  const Place place = place_of_thread();
  const Slice slice(split_of_block());

  const int thread = static_cast<int>(threadIdx.x);
  const RowCopier<kThreads> q_copier(base, thread);
  const i64 first_row = i64{place.head} * kRows + place.block_row;
  wait_for_work_in_front();
  let_work_behind_begin();
  q_copier.copy<BLOCK_M, kRaggedRows>(0, q + (first_row * HEAD_DIM + q_copier.from),
                                      kRows - place.block_row);

  const u32 ring = base + kQBytes + place.group * kRingBytes;
  const RowCopier<kGroupThreads> copier(ring, thread % kGroupThreads);
  const int first_key = slice.first * BLOCK_N + place.group * kGroupKeys;
  const i64 offset = (i64{place.head} * SEQ_KV + first_key) * HEAD_DIM + copier.from;
  const Stream stream{copier, k + offset, v + offset, first_key, slice.count, place.group};
  stream.start();

  const u32 q_rows = base + place.first_row * kRowBytes;
  const Operands operands{QueryRows<kMTiles, Q_IN_REGS>(row_fragments(q_rows, place.lane)),
                          key_fragments(ring, place.lane),
                          row_fragments(ring + kVRing, place.lane)};
  WarpState state;
  visit_keys(state, stream, operands, place);
#pragma unroll
  for (int m = 0; m < kMTiles; ++m) {
#pragma unroll
    for (int half = 0; half < 2; ++half) state.sum[m][half] = warp_sum<4>(state.sum[m][half]);
  }

  const BlockExchange exchange{shared + kQBytes};
  __syncthreads();  // every warp is done with its ring, whose place the exchange takes
  publish(exchange, state, place);
  __syncthreads();
  const PartialRows rows(partial, stats, place);
#pragma unroll
  for (int m = 0; m < kMTiles; ++m) {
#pragma unroll
    for (int half = 0; half < 2; ++half) write_row(rows, exchange, state, place, m, half);
  }
}

// ---- the second launch ----

constexpr int kQuads = HEAD_DIM / 4;  // threads that share a row, four columns each
constexpr int kCombineThreads = COMBINE_ROWS * COMBINE_PARTS * kQuads;
constexpr i64 kAllRows = kHeadCount * SEQ_Q;

constexpr int kBatch = min_of(8, ceil_div(SPLITS, COMBINE_PARTS));  // partial outputs at a time
constexpr bool kWholeBatches = SPLITS % (kBatch * COMBINE_PARTS) == 0;

// Loads that keep their order: the compiler would rather wait for one after the other.
DEVICE float4 load_now(const float4* from) {
  float4 value;
  asm volatile("ld.relaxed.gpu.global.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(value.x), "=f"(value.y), "=f"(value.z), "=f"(value.w)
               : "l"(from));
  return value;
}
DEVICE float2 load_now(const float2* from) {
  float2 value;
  asm volatile("ld.relaxed.gpu.global.v2.f32 {%0, %1}, [%2];"
               : "=f"(value.x), "=f"(value.y)
               : "l"(from));
  return value;
}

/// Some of a row's partial outputs, added up: four columns, their peak and their sum.
struct Share {
  float4 out;
  float2 stat;

  DEVICE void scale(float factor) {
    out.x *= factor, out.y *= factor, out.z *= factor, out.w *= factor;
  }
  DEVICE void add(const float4& columns, float factor) {
    out.x += columns.x * factor, out.y += columns.y * factor;
    out.z += columns.z * factor, out.w += columns.w * factor;
  }
};

/// Adds up every COMBINE_PARTS-th partial output of a row from `part` on.
DEVICE Share add_splits(const float4* out, const float2* stats, int part) {
  Share share{make_float4(0.0f, 0.0f, 0.0f, 0.0f), make_float2(NEG_INF, 0.0f)};
#pragma unroll 1
  for (int first = part; first < SPLITS; first += kBatch * COMBINE_PARTS) {
    float4 columns[kBatch];
    float2 stat[kBatch];
#pragma unroll
    for (int i = 0; i < kBatch; ++i) {
      const int split = first + i * COMBINE_PARTS;
      columns[i] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
      stat[i] = make_float2(NEG_INF, 0.0f);
      if (kWholeBatches || split < SPLITS) {
        columns[i] = load_now(out + split * kQuads);
        stat[i] = load_now(stats + split);
      }
    }
    const RowJoin<kBatch + 1> join([&](int i) { return i == 0 ? share.stat : stat[i - 1]; });
    share.scale(join.factor[0]);
#pragma unroll
    for (int i = 0; i < kBatch; ++i) share.add(columns[i], join.factor[i + 1]);
    share.stat = make_float2(join.peak, join.sum);
  }
  return share;
}

extern "C" __global__ void __launch_bounds__(kCombineThreads)
    fa_split_combine(const float* partial, const float2* stats, elem* out, float* lse) {
  extern __shared__ __align__(128) u8 shared[];
  Share* const shares = reinterpret_cast<Share*>(shared);
  const int thread = static_cast<int>(threadIdx.x);
  const int quad = thread % kQuads;
  const int part = thread / kQuads % COMBINE_PARTS;
  const i64 row = i64{blockIdx.x} * COMBINE_ROWS + thread / (kQuads * COMBINE_PARTS);
  const bool inside = kAllRows % COMBINE_ROWS == 0 || row < kAllRows;

  Share share{};
  wait_for_work_in_front();
  if (inside) {
    const float4* const quads = reinterpret_cast<const float4*>(partial);
    share = add_splits(quads + (row * SPLITS * kQuads + quad), stats + row * SPLITS, part);
  }
  if constexpr (COMBINE_PARTS > 1) {
    shares[thread] = share;
    __syncthreads();
  }
  if (!inside || part != 0) return;
  const RowJoin<COMBINE_PARTS> join(
      [&](int other) { return other == 0 ? share.stat : shares[thread + other * kQuads].stat; });
  share.scale(join.factor[0]);
#pragma unroll
  for (int other = 1; other < COMBINE_PARTS; ++other)
    share.add(shares[thread + other * kQuads].out, join.factor[other]);
  if (LSE != 0 && quad == 0) lse[row] = log_sum_exp(join.peak, join.sum);
  share.scale(inverse_or_zero(join.sum));
  *reinterpret_cast<uint2*>(out + row * HEAD_DIM + quad * 4) =
      make_uint2(pack2(share.out.x, share.out.y), pack2(share.out.z, share.out.w));
}
