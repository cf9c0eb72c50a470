// traits.cuh: Derives from config and problem what the CTAs of the family are made of.
//
// A kernel includes its config header first. What the manifest needs as well comes from the
// manifest, as macros: its terms.
#pragma once

#include "common/modifiers.cuh"
#include "common/problem.cuh"

#if BIAS
constexpr int kBiasBytes = BIAS_BYTES;
#else
constexpr int kBiasBytes = 0;
#endif

// The members of Config (family_defaults.cuh) under their own names.
constexpr bool kInterleaved = Config::kInterleaved;
constexpr bool kIntraWgOverlap = Config::kIntraWgOverlap;
constexpr bool kFencedOverlap = Config::kFencedOverlap;
constexpr bool kPingpong = Config::kPingpong;
constexpr int kStagger = Config::kStagger;
constexpr bool kMmaPvIsRs = Config::kMmaPvIsRs;
constexpr bool kLazyRescale = Config::kLazyRescale;
constexpr bool kLateRescale = Config::kLateRescale;
constexpr int kEx2Linear = Config::kEx2Linear;
constexpr bool kF16Scores = Config::kF16Scores;
constexpr bool kRowSumByMma = Config::kRowSumByMma;
constexpr bool kPersistent = Config::kPersistent;
constexpr bool kBackward = Config::kBackward;
constexpr bool kRotate = Config::kRotate;
constexpr bool kPaired = Config::kPaired;
constexpr bool kZigzag = Config::kZigzag;
constexpr int kSectionHeads = Config::kSectionHeads;
constexpr int kTailSplits = Config::kTailSplits;
constexpr int kWholeTiles = Config::kWholeTiles;
constexpr bool kHasProducer = Config::kHasProducer;
constexpr bool kReallocRegisters = Config::kReallocRegisters;
constexpr bool kTransposeV = Config::kTransposeV;
constexpr bool kEarlyV = Config::kEarlyV;
constexpr bool kStoreTma = Config::kStoreTma;
constexpr bool kStoreRegisters = Config::kStoreRegisters;
constexpr int kPromotedColumns = Config::kPromotedColumns;
constexpr int kSummedBlocks = Config::kSummedBlocks;
constexpr bool kPromoteHalves = Config::kPromoteHalves;
constexpr int kPBytes = Config::kPBytes;
constexpr int kOBytes = Config::kOBytes;
constexpr int kVTransposedBytes = Config::kVTransposedBytes;
constexpr int kOnesBytes = Config::kOnesBytes;

/// A or B.
template <bool kFirst, typename A, typename B>
struct SelectOf {
  using type = A;
};
template <typename A, typename B>
struct SelectOf<false, A, B> {
  using type = B;
};
template <bool kFirst, typename A, typename B>
using Select = typename SelectOf<kFirst, A, B>::type;

constexpr int kRowBlocks = BLOCK_M / 64;              // consumer warpgroups along M
constexpr int kConsumers = CONSUMER_WARPGROUPS;
constexpr int kConsumerThreads = 128 * kConsumers;
constexpr int kThreads = CTA_THREADS;

constexpr int kPack = PACKED_HEADS;          // query heads whose rows share a tile
constexpr int kPositions = BLOCK_M / kPack;  // rows of each of them
constexpr int kMBlocks = ceil_div(SEQ_Q, kPositions);
constexpr int kWorkTiles = WORK_TILES;

constexpr int kSplits = KV_SPLITS;  // warpgroups of a cluster that share the KV blocks of 64 rows
constexpr int kStages = NUM_STAGES;
constexpr int kCtas = kPersistent ? min_of(kWorkTiles, SM_COUNT * MIN_CTAS) : kWorkTiles;
// Q of later work tiles has a thread of its own, where no warp of the producer transposes V.
constexpr bool kQHasLoader = kPersistent && !kTransposeV;
// Every KV block of the CTA has a stage of its own.
constexpr bool kResident = !kPersistent && kStages == CTA_N_BLOCKS;

// Tiles of Q, K and V lie in shared memory as boxes, whose rows are as long as their swizzle.
constexpr int kBoxBytes = kIs16Bit || HEAD_DIM % 128 == 0 ? 128 : 64;  // of a row
constexpr int kBoxColumns = kBoxBytes / DTYPE_BYTES;
constexpr int kBoxSteps = kBoxBytes / 32;       // k-steps, of 32 bytes, in a box
constexpr int kStepWidth = 32 / DTYPE_BYTES;    // elements of a k-step
constexpr int kKeyBoxBytes = BLOCK_N % 128 == 0 ? 128 : 64;  // of a row of V^T
constexpr int kPSteps = BLOCK_N / kStepWidth;   // k-steps of PV

constexpr int kDTiles = VALUE_DIM / 8;                      // 8-column tiles of O
constexpr int kAccTiles = kDTiles + (kRowSumByMma ? 1 : 0);  // and one of row sums
constexpr int kVRows = 8 * kAccTiles;                       // of a box of V^T, the last of ones
constexpr int kDSteps = ceil_div(HEAD_DIM, kStepWidth);     // k-steps of QK^T
constexpr int kNTiles = BLOCK_N / 8;                        // 8-key tiles of S
// Promotion: PV is summed in registers of its own and added to O in f32 (promotion.cuh).
constexpr bool kPromote = kPromotedColumns > 0;
// KV blocks whose PV is summed before it is added to O.
constexpr int kPromotedBlocks = kInterleaved ? 1 : kSummedBlocks;
// Pieces of PV, where all of its columns have no room beside O: some columns at a time, and for
// them all keys or half of them.
constexpr int kKeyPieces = kPromoteHalves ? 2 : 1;
constexpr int kPieces = kPromote ? VALUE_DIM / kPromotedColumns * kKeyPieces : 1;
constexpr bool kPvInPieces = kPieces > 1;
constexpr int kPieceBuffers = kIntraWgOverlap ? 1 : 2;  // S has the place of one while both overlap
// O is multiplied in a step of its own where row_max rises, not as part of every promotion.
constexpr bool kRescaleSeparately = !kPromote || kLazyRescale;
// P has two sets of registers: one is filled while PV of the KV block before reads the other.
constexpr bool kTwoPBuffers = kIntraWgOverlap && kLateRescale;
// KV blocks begin anywhere, where rows see no key before a bound.
constexpr bool kUnalignedBlocks = kBoundedBefore || kLengths;
// A mask hides what is past the last key.
constexpr bool kHidesEnd =
    kBoundedAfter && PREFIX_KEYS == 0 && DIAGONAL + KEYS_AFTER <= SEQ_KV - SEQ_Q;
constexpr bool kRaggedKeys = SEQ_KV % BLOCK_N != 0 || (kUnalignedBlocks && !kHidesEnd);
constexpr bool kAnyMask = MASKED != 0 || kRaggedKeys;
// PV by a column of ones keeps row_sum in a tile of O from the first KV block to the last.
constexpr bool kRowSumInO = kRowSumByMma && !kInterleaved;
// A row may meet a KV block none of whose keys it sees before it has seen any.
constexpr bool kMayBeUnseen =
    kBias || kLengths || kMaskExpr || kScoreExpr || kBoundedBefore ||
    (kBoundedAfter && (kBackward || kSplits > 1 || kSomeSeeNothing));

// A work tile, or a split's share of one, may have no KV block.
constexpr bool kMayHaveNoBlock =
    MASKED != 0 ? kSplits > 1 || kSomeSeeNothing || kLengths || kMaskExpr
                : ceil_div(SEQ_KV, BLOCK_N) < kSplits;

// wgmma takes fp8 K-major only: V^T, which comes from memory or is made of V.
constexpr bool kVIsKMajor = !kIs16Bit;
constexpr bool kVComesTransposed = kVIsKMajor && !kTransposeV;

/// Warps of the producer warpgroup that transpose V; the last one loads, and with kEarlyV has
/// issued all loads when V arrives.
constexpr int kTransposingWarps = kEarlyV ? 4 : 3;

// Registers are given to a CTA as if its warps came in fours.
constexpr int kLaunchThreads = ceil_div(kThreads, 128) * 128;

static_assert(kResident || kStages % INTRA_CTA_SPLITS == 0, "a stage serves one split");
static_assert(BLOCK_M % 64 == 0 && BLOCK_N % kStepWidth == 0, "shapes of a wgmma");
static_assert(HEAD_DIM % (kIs16Bit ? 8 : 32) == 0 && VALUE_DIM % 8 == 0 &&
                  (kIs16Bit || VALUE_DIM == HEAD_DIM),
              "columns come in boxes of 64 or 128, what the last lacks as zeros");
static_assert(kSplits == 1 || kDTiles % (2 * kSplits) == 0,
              "each split finishes as many columns, tiles in pairs");
static_assert(kPositions % 16 == 0 && BLOCK_M % kPack == 0, "16 rows of a warp are of one head");
static_assert(kPositions % 64 == 0 || 64 % kPositions == 0, "one TMA box has 64 rows");
static_assert(!kPingpong || (kRowBlocks > 1 && INTRA_CTA_SPLITS == 1),
              "warpgroups of different rows take turns");
static_assert(!kEarlyV || (kResident && kTransposeV), "nothing is left to load later");
static_assert(kHasProducer || kResident, "a consumer cannot refill stages");
static_assert(!kInterleaved || kResident, "a redone KV block must still be in shared memory");
static_assert(!kInterleaved || !kMayBeUnseen, "every row sees a key of its first KV block");
static_assert(!kRowSumByMma || (kSplits == 1 && LSE == 0), "row sums of P as rounded come last");
static_assert(!kRowSumByMma || kVIsKMajor || VALUE_DIM == 64,
              "the ones lie one box behind any stage of V");
static_assert(!kRowSumByMma || !kPvInPieces, "row sums are a tile of columns of all of PV");
static_assert(kEx2Linear == 0 || kRowSumByMma, "only rounded P has these exponentials");
static_assert(!kPvInPieces || (kPieces * kPromotedColumns == VALUE_DIM * kKeyPieces &&
                             kPSteps % kKeyPieces == 0),
              "pieces are all of PV");
static_assert(kSummedBlocks == 1 || (!kPvInPieces && (kInterleaved || kRescaleSeparately)),
              "sums of several KV blocks stay where they are, and have one scale");
static_assert(!kPersistent || kSplits == 1, "stages go to the splits of one work tile in turn");
