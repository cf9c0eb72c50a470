// shape.cuh - the config and the problem to what fa_wgmma's blocks are made of, and what must hold.
#pragma once

#include "common/problem.cuh"

constexpr int kRowBlocks = BLOCK_M / 64;            // warpgroups side by side, 64 rows each
constexpr int kConsumers = kRowBlocks * KEY_PARTS;  // warpgroups that compute
constexpr int kConsumerThreads = 128 * kConsumers;
constexpr int kLoaderThreads = LOADER == LOADER_SELF ? 0 : LOADER == LOADER_WARP ? 32 : 128;
constexpr int kThreads = kConsumerThreads + kLoaderThreads;

constexpr int kPack = PACK_GQA ? kHeadGroup : 1;  // query heads whose rows share a tile
constexpr int kPositions = BLOCK_M / kPack;       // rows of each of them
constexpr int kQueryTiles = ceil_div(SEQ_Q, kPositions);
constexpr int kItems = kQueryTiles * (BATCH * HEADS / kPack);

constexpr int kParts = KEY_PARTS * CLUSTER;  // warpgroups of a cluster that share 64 rows' keys
constexpr int kTiles = ceil_div(SEQ_KV, BLOCK_N);
constexpr int kBlockTiles = ceil_div(kTiles, kParts) * KEY_PARTS;  // that a block visits at most
constexpr int kStages = min_of(STAGES, kBlockTiles);
constexpr bool kPersistent = SCHEDULER == SCHEDULER_STATIC;
constexpr int kBlocks = kPersistent ? min_of(kItems, SM_COUNT* MIN_CTAS) : kItems;
constexpr bool kResident = !kPersistent && kStages == kBlockTiles;  // a slot for every tile

constexpr int kDTiles = HEAD_DIM / 8;   // 8-column tiles of the output
constexpr bool kWholeSums = ROW_SUMS == ROW_SUMS_PRODUCT;
constexpr int kOutTiles = kDTiles + (kWholeSums ? 1 : 0);  // and one of rows' sums
constexpr int kDSteps = HEAD_DIM / 16;  // products over the head dimension
constexpr int kNTiles = BLOCK_N / 8;    // 8-key tiles of the scores
constexpr bool kOverlap = OVERLAP != OVERLAP_NONE;
constexpr bool kWoven = OVERLAP == OVERLAP_WOVEN;
constexpr bool kLazy = RESCALE == RESCALE_LAZY;
constexpr bool kShared = WEIGHTS == WEIGHTS_SHARED;
constexpr bool kRaggedKeys = SEQ_KV % BLOCK_N != 0;
constexpr bool kAnyMask = CAUSAL != 0 || kRaggedKeys;
// A row may meet a tile none of whose keys it sees before it has seen any.
constexpr bool kUnseen =
    CAUSAL != 0 && (KV_ORDER == KV_ORDER_BACKWARD || kParts > 1 || SEQ_Q > SEQ_KV);

// Registers are given to a block as if its warps came in fours.
constexpr int kLaunchThreads = ceil_div(kThreads, 128) * 128;
constexpr int kLaunchRegisters = 65536 / (MIN_CTAS * kLaunchThreads) / 8 * 8;
constexpr int kLoaderRegisters = 24;
constexpr int kConsumerRegisters =
    (kLaunchRegisters * (kConsumers + 1) - kLoaderRegisters) / kConsumers / 8 * 8;
constexpr bool kMoveRegisters = LOADER == LOADER_WARPGROUP && kLaunchRegisters < 256;

static_assert(kResident || kStages % KEY_PARTS == 0, "a ring slot serves one part");
static_assert(BLOCK_M % 64 == 0 && BLOCK_N % 16 == 0, "shapes of a product");
static_assert(HEAD_DIM % 32 == 0 && HEAD_DIM >= 64,
              "columns come in boxes of 64, half one the last");
static_assert(kDTiles % kParts == 0, "each part finishes as many columns");
static_assert(kPositions % 16 == 0 && BLOCK_M % kPack == 0, "16 rows of a warp are of one head");
static_assert(kPositions % 64 == 0 || 64 % kPositions == 0, "a copy brings 64 rows in one box");
static_assert(!PINGPONG || (kRowBlocks > 1 && KEY_PARTS == 1), "turns are taken by different rows");
static_assert(LOADER != LOADER_SELF || kResident, "a warpgroup that computes cannot refill slots");
static_assert(!kWoven || (RESCALE == RESCALE_ONCE && !PINGPONG && !kShared),
              "woven visits have one peak, no turns, and weights in registers");
static_assert(!kWoven || kResident, "to visit tiles again they must still be there");
static_assert(!kWoven || !kUnseen, "every row sees a key of its first tile");
static_assert(!kWholeSums || (kWoven && HEAD_DIM == 64 && kParts == 1 && LSE == 0),
              "the tile of ones lies one box behind any tile of values");
static_assert(!kPersistent || kParts == 1, "slots go to the parts of one item in turn");
