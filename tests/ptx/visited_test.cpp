// visited_test.cpp: Counts the KV blocks that interpreted kernels multiply, beside the fewest that
// masks allow.
#include <algorithm>
#include <cstdint>
#include <set>

#include <catch2/catch_test_macros.hpp>

#include "model/problem/rule_keys.hpp"
#include "ptx/bench.hpp"
#include "ptx/judge.hpp"
#include "support/problem_text.hpp"

using namespace fatune;
using ptx::Asynchrony;
using test::bench;
using test::expected_of;

namespace {

struct Tile {
  std::int64_t rows, keys;
  bool from_any_key;  ///< KV blocks may begin with any key, not only at multiples of their length
};

/// KV blocks of which rows of one tile see keys, of head 0.
std::int64_t blocks_with_keys(const Attention& problem, std::int64_t batch, const Tile& tile,
                              std::int64_t row) {
  const VisibleKeys keys(problem);
  std::set<std::int64_t> blocks;
  for (std::int64_t i = row; i < std::min(row + tile.rows, problem.seq_q); ++i) {
    for (std::int64_t key = 0; key < problem.seq_kv; ++key) {
      if (keys.has(batch, 0, i, key)) blocks.insert(key / tile.keys);
    }
  }
  return static_cast<std::int64_t>(blocks.size());
}

/// KV blocks that the rows of all work tiles see at least, of one head.
std::int64_t least_blocks(const Attention& problem, std::int64_t batch, const Tile& tile) {
  std::int64_t blocks = 0;
  for (std::int64_t row = 0; row < problem.seq_q; row += tile.rows) {
    if (!problem.mask.rule.empty()) {
      blocks += blocks_with_keys(problem, batch, tile, row);
      continue;
    }
    std::int64_t begin = problem.seq_kv, end = 0;
    for (std::int64_t i = row; i < std::min(row + tile.rows, problem.seq_q); ++i) {
      const KeyRange seen = visible_keys(problem, batch, i);
      if (seen.count() <= 0) continue;
      begin = std::min(begin, seen.begin);
      end = std::max(end, seen.end);
    }
    if (!tile.from_any_key) begin = begin / tile.keys * tile.keys;
    if (end > begin) blocks += (end - begin + tile.keys - 1) / tile.keys;
  }
  return blocks;
}

/// Multiplications of QK^T and PV of all of them.
std::int64_t least_products(const Attention& problem, const Tile& tile) {
  std::int64_t blocks = 0;
  for (std::int64_t batch = 0; batch < problem.batch; ++batch)
    blocks += problem.heads * least_blocks(problem, batch, tile);
  return 2 * blocks * tile.rows * tile.keys * problem.head_dim;
}

std::int64_t products_of(const char* kernel, const char* config, const Attention& problem) {
  const auto candidate = bench().candidate(kernel, config, problem);
  if (!candidate) FAIL(candidate.error().message);
  const ptx::Examined seen =
      ptx::examine(bench().setting(), expected_of(problem), *candidate, Asynchrony::kEarly);
  INFO(seen.reason);
  CHECK(seen.passed);
  return static_cast<std::int64_t>(seen.products);
}

}  // namespace

TEST_CASE("kernels multiply the fewest KV blocks that a mask allows") {
  for (const char* text :
       {"1,1,256,64 f16 none", "1,1,256,64 f16 causal", "1,1,256x300,64 f16 causal-window:33",
        "1,1,256,64 f16 window:40,70", "1,1,200x300,64 f16 causal-upper-left",
        "1,1,256,64 f16 prefix:70", "3,1,200,64 f16 padding:200,65,0",
        "3,1,200,64 f16 causal+padding-left:200,65,1",
        "1,1,300,64 f16 causal+document:100,0,90,1,109", "1,1,256,64 f16 q/64==k/64",
        "1,1,300,64 f16 causal&&(k<4||q-k<70)", "1,1,256,64 f16 k/64%2==1",
        "1,1,300,64 f16 causal&&doc[q]==doc[k] tensor doc=i32[300]:0*100,1*90,2,3*109"}) {
    const Attention problem = test::problem(text);
    INFO(describe(problem));
    const bool moves = problem.mask.before || problem.mask.lengths.kind != LengthsKind::kNone;
    CHECK(products_of("fa_wgmma", "BLOCK_M=64,BLOCK_N=64,PINGPONG=false", problem) ==
          least_products(problem, {64, 64, moves}));
    CHECK(products_of("fa_wgmma", "BLOCK_M=128,BLOCK_N=64", problem) ==
          least_products(problem, {128, 64, moves}));
    CHECK(products_of("fa_mma", "BLOCK_M=64,BLOCK_N=64", problem) <=
          least_products(problem, {64, 64, false}));
  }
}
