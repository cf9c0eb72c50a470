// masks_test.cpp: Checks interpreted kernels with every kind of mask, beside the edges of tiles,
// and with capped scores.
#include <iterator>
#include <string>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators_range.hpp>

#include "ptx/bench.hpp"
#include "ptx/judge.hpp"
#include "support/problem_text.hpp"

using namespace fatune;
using ptx::Asynchrony;
using test::bench;
using test::expected_of;

namespace {

struct Variant {
  const char* kernel;
  const char* config;
};

const Variant kPlainMma = {"fa_mma", ""};
const Variant kMmaSplits = {"fa_mma", "STAGES=2,INTRA_CTA_SPLITS=2,RESCALE=late,BLOCK_N=32"};
const Variant kMmaPacked = {
    "fa_mma", "BLOCK_M=32,NUM_WARPS=2,KV_ORDER=backward,PACK_GQA=true,RESCALE=always"};
const Variant kSplit = {"fa_split", "BLOCK_N=32,NUM_SPLITS=4"};
const Variant kPlainWgmma = {"fa_wgmma", "BLOCK_M=64,BLOCK_N=64,PINGPONG=false"};
const Variant kWgmmaLate = {
    "fa_wgmma", "BLOCK_M=128,BLOCK_N=64,INTRA_WG_OVERLAP=on,RESCALE=late,KV_ORDER=backward"};
const Variant kWgmmaSplits = {"fa_wgmma",
                              "BLOCK_M=64,BLOCK_N=64,PINGPONG=false,INTRA_CTA_SPLITS=2"};
const Variant kWgmmaCluster = {
    "fa_wgmma", "BLOCK_M=64,BLOCK_N=64,PINGPONG=false,CLUSTER_SPLITS=2,RESCALE=always"};
const Variant kWgmmaPersistent = {
    "fa_wgmma", "BLOCK_M=64,BLOCK_N=64,PINGPONG=false,SCHEDULER=static_persistent,STAGES=3"};
const Variant kWgmmaPacked = {"fa_wgmma", "BLOCK_M=128,BLOCK_N=64,PACK_GQA=true"};
const Variant kInterleaved = {"fa_wgmma_interleaved", "BLOCK_M=64"};

struct MaskCase {
  Variant variant;
  const char* problem;
};

// Windows begin and end inside of tiles, at their edges, and beside them; rows see no key, or one.
const MaskCase kMasked[] = {
    {kPlainMma, "1,2,200,64 f16 window:40,20"},
    {kPlainMma, "1,2,200,64 f16 causal-window:64 lse"},
    {kPlainMma, "1,2,200,64 f16 window:0,0"},
    {kPlainMma, "1,2,200,64 f16 prefix:70"},
    {kPlainMma, "1,2,100x200,64 f16 causal-upper-left"},
    {kMmaSplits, "1,2,200x300,64 bf16 window:100,3"},
    {kMmaSplits, "1,2,200x100,64 f16 causal-window:33 lse"},
    {kMmaSplits, "1,2,200x100,64 f16 prefix:40"},
    {kMmaPacked, "1,4(kv 2),70x200,64 f16 causal-window:65 bshd"},
    {kMmaPacked, "1,4(kv 2),70,64 f16 window:20,69"},
    {kMmaPacked, "1,4(kv 2),70x40,64 f16 causal-upper-left lse"},
    {kSplit, "1,4(kv 2),3x500,64 f16 causal-window:100 lse"},
    {kSplit, "1,4(kv 2),3x500,64 f16 window:200,1"},
    {kSplit, "1,2,5x500,64 bf16 prefix:300"},
    {kSplit, "1,2,5x500,64 f16 causal-upper-left"},
    {kPlainWgmma, "1,2,200,64 f16 window:40,20"},
    {kPlainWgmma, "1,2,200,64 f16 causal-window:65 lse"},
    {kPlainWgmma, "1,2,200,64 bf16 window:63,1"},
    {kPlainWgmma, "1,2,200x100,64 f16 causal-window:33 lse"},
    {kPlainWgmma, "1,2,100x200,64 f16 causal-upper-left"},
    {kWgmmaLate, "1,1,200x300,64 f16 causal-window:64"},
    {kWgmmaLate, "1,1,200,128 bf16 window:30,199"},
    {kWgmmaLate, "1,1,200,64 f16 prefix:70"},
    {kWgmmaSplits, "1,1,200,64 f16 window:100,50"},
    {kWgmmaSplits, "1,1,200x100,64 f16 causal-upper-left"},
    {kWgmmaCluster, "1,1,200,64 f16 causal-window:20 lse"},
    {kWgmmaPersistent, "3,60,70,64 f16 window:9,9"},
    {kWgmmaPersistent, "3,60,70,64 f16 prefix:30"},
    {kWgmmaPacked, "1,4(kv 2),100,64 f16 causal-window:33 bshd"},
    {kWgmmaPacked, "1,4(kv 2),100x200,64 f16 window:64,31"},
    {kInterleaved, "1,2,200,64 f16 prefix:70"},
    {kInterleaved, "1,2,100x200,64 f16 causal-upper-left"},
    {kPlainMma, "1,2,100,64 f16 softcap 30"},
    {kMmaSplits, "1,2,100,64 bf16 causal-window:33 lse softcap 2"},
    {kSplit, "1,4(kv 2),3x300,64 f16 causal lse softcap 50"},
    {kPlainWgmma, "1,2,130,64 f16 window:40,20 softcap 50"},
    {kWgmmaLate, "1,1,200,128 bf16 causal softcap 1"},
    {kWgmmaPersistent, "3,60,70,64 f16 none lse softcap 50"},
    {kInterleaved, "1,2,200,64 f16 none softcap 50"},
    {kInterleaved, "1,2,200,64 bf16 prefix:70 softcap 3"},
};

}  // namespace

TEST_CASE("interpreted kernels with every mask pass the accuracy gate") {
  const auto which = static_cast<std::size_t>(
      GENERATE(Catch::Generators::range(0, static_cast<int>(std::size(kMasked)))));
  const auto& [variant, text] = kMasked[which];
  const Attention problem = test::problem(text);
  INFO(variant.kernel << " " << variant.config << ", " << describe(problem));
  const auto candidate = bench().candidate(variant.kernel, variant.config, problem);
  if (!candidate) FAIL(candidate.error().message);
  for (const Asynchrony asynchrony : {Asynchrony::kLate, Asynchrony::kEarly}) {
    const ptx::Examined seen =
        ptx::examine(bench().setting(), expected_of(problem), *candidate, asynchrony);
    INFO(seen.reason);
    CHECK(seen.passed);
    CHECK(seen.margin < 1);
  }
}

TEST_CASE("interpreted kernels with a fault of their mask are refused for it") {
  struct Fault {
    const char* name;
    const char* problem;
  };
  for (const Fault& fault : {Fault{"wide_window", "1,2,128,64 f16 causal-window:24"},
                             Fault{"wrong_corner", "1,2,128x192,64 f16 causal"},
                             Fault{"wrong_corner", "1,2,128x96,64 f16 window:20,50"},
                             Fault{"masks_whole_tiles", "1,2,128,64 f16 window:40,20"},
                             Fault{"masks_whole_tiles", "1,2,128,64 f16 prefix:33"}}) {
    INFO(fault.name << ", " << fault.problem);
    const Attention problem = test::problem(fault.problem);
    const auto candidate = bench().candidate("faults", std::string("FAULT=") + fault.name, problem);
    if (!candidate) FAIL(candidate.error().message);
    const ptx::Examined seen =
        ptx::examine(bench().setting(), expected_of(problem), *candidate, Asynchrony::kLate);
    CHECK_FALSE(seen.passed);
  }
}
