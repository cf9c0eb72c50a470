// masks_test.cpp: Checks interpreted kernels with every kind of mask, beside the edges of tiles,
// and with scores that are capped or biased, have slopes or a sink.
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

const Variant kNaive = {"naive", ""};
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
const Variant kWgmmaStores = {
    "fa_wgmma", "BLOCK_M=64,BLOCK_N=64,PINGPONG=false,MMA_PV=ss,STORE=tma,INTRA_WG_OVERLAP=on"};
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
    {kPlainMma, "1,2,100,64 f16 bias 1,2,100,100"},
    {kPlainMma, "2,2,70x101,64 bf16 bias 2,1,1,101"},
    {kMmaSplits, "1,2,100,64 bf16 causal lse softcap 2 bias 1,2,100,100:f32"},
    {kMmaPacked, "2,4(kv 2),30,64 f16 causal-window:20 bias 2,4,30,30:bool"},
    {kSplit, "1,4(kv 2),3x300,64 f16 causal lse bias 1,4,3,300"},
    {kSplit, "2,2,5x300,64 f16 bias 2,1,1,300:bool"},
    {kPlainWgmma, "1,2,130,64 f16 bias 1,2,130,130"},
    {kPlainWgmma, "1,2,130,64 f16 window:40,20 bias 1,2,130,130@0:1:260:2"},
    {kWgmmaLate, "1,1,200,128 bf16 causal softcap 1 bias 1,1,200,200:f32"},
    {kWgmmaSplits, "2,1,200x100,64 f16 lse bias 2,1,1,100:bool"},
    {kWgmmaPersistent, "3,60,70,64 f16 none lse bias 1,60,70,70"},
    {kWgmmaPacked, "1,4(kv 2),100,64 f16 causal bias 1,4,100,100"},
    {kNaive, "2,2,70,64 f16 none lse sink"},
    {kNaive, "1,4(kv 2),70x40,64 bf16 causal lse softcap 5 bias 1,4,70,40:f32 sink"},
    {kNaive, "1,4,70x101,64 f16 none lse alibi"},
    {kNaive, "1,4,70,64 bf16 causal-window:33 alibi sink"},
    {kNaive, "5,2,40x70,64 f16 padding:70,0,1,33 lse"},
    {kNaive, "3,2,40x70,64 f16 causal+padding:70,20,35 lse sink"},
    {kNaive, "3,2,70x40,64 bf16 window:9,9+padding-left:1,20,40 lse"},
    {kNaive, "2,2,40x70,64 f16 padding-left:0,33 alibi sink bshd"},
    {kNaive, "1,2,70,64 f16 document:33,0,1,36 lse"},
    {kNaive, "1,2,70,64 f16 causal+document:30,40 alibi"},
    {kNaive, "1,2,70,64 f16 window:9,5+document:70 lse sink"},
    {kPlainMma, "1,2,100,64 f16 sink"},
    {kPlainMma, "1,2,300,64 f16 document:64,100,136 lse"},
    {kMmaSplits, "1,2,100,64 bf16 causal lse sink"},
    {kMmaPacked, "1,4(kv 2),70,64 f16 causal-window:33 alibi sink bshd"},
    {kMmaPacked, "2,4(kv 2),70x200,64 f16 padding:100,7 bshd"},
    {kSplit, "1,4(kv 2),3x300,64 f16 causal lse alibi sink"},
    {kSplit, "3,2,5x300,64 f16 padding:300,97,0 lse"},
    {kSplit, "2,2,5x300,64 bf16 causal+padding-left:300,33"},
    {kPlainWgmma, "1,2,130,64 f16 window:40,20 lse sink"},
    {kPlainWgmma, "1,2,300,64 f16 window:20,30+document:64,64,64,108 lse"},
    {kPlainWgmma, "2,2,130,64 bf16 padding:65,1 lse softcap 20 bias 2,1,130,130 alibi sink"},
    {kPlainWgmma, "1,2,128,64 f16 causal-window:33 bias 1,2,128,128"},
    {kWgmmaLate, "1,1,200,128 bf16 causal lse alibi"},
    {kWgmmaLate, "1,1,200,64 f16 none alibi sink"},
    {kWgmmaSplits, "3,1,200,64 f16 padding:150,3,0 lse sink"},
    {kWgmmaCluster, "2,1,200,64 f16 causal+padding-left:100,200 lse alibi"},
    {kWgmmaPersistent, "1,140,300,64 f16 causal+document:100,0,90,1,109"},
    {kWgmmaPacked, "2,4(kv 2),100,64 f16 causal-window:33+padding:80,40 alibi sink"},
    {kNaive, "2,4(kv 2),70x40,64 f16 (q+2*k+h+b)%3!=0 lse score score+h*(k-q)"},
    {kPlainMma, "1,2,200,64 f16 q/64==k/64 lse"},
    {kPlainMma, "1,1,200,64 f16 (q&k)==0||(q^k)<20 lse"},
    {kPlainMma, "1,4,200x130,64 f16 causal&&(k<4||q-k<20<<h)"},
    {kMmaSplits, "2,2,100x300,64 bf16 b==0?k%70<30:k>=250 lse sink"},
    {kMmaPacked, "1,4(kv 2),70x200,64 f16 (k/32+h)%2==0 score h<2?score:score-0.5f*abs(q-k)"},
    {kSplit, "1,4(kv 2),3x500,64 f16 k<20||k/100==3+h%2 lse"},
    {kSplit, "2,2,5x300,64 f16 (q^k)%4!=1+padding:200,0 score min(score,1)*2"},
    {kPlainWgmma, "1,2,200,64 f16 k<4||q-k<20&&k<=q lse"},
    {kPlainWgmma, "1,2,130,64 f16 causal-window:70&&(q-k)%3!=1 softcap 20 sink"},
    {kPlainWgmma, "2,2,200x300,64 bf16 floor_mod(k-q,128)<40+padding:300,150 lse"},
    {kWgmmaLate, "1,1,200,128 bf16 causal&&(q/32+k/32)%2==0"},
    {kWgmmaLate, "1,1,200,64 f16 ((q|k)&~64)==(q^k)"},
    {kWgmmaSplits, "1,1,200x300,64 f16 k>=128||q<64 lse"},
    {kWgmmaCluster, "1,1,200,64 f16 k/64!=1 score k<150?score:-INFINITY"},
    {kWgmmaPersistent, "3,60,70,64 f16 none score exp(-abs(score))+log(1+float(k))"},
    {kWgmmaPacked, "1,4(kv 2),100,64 f16 h%2==0?k<=q:k<30 lse alibi"},
    {kNaive, "1,4(kv 2),40x70,24(v 72) bf16 causal lse sink"},
    {kNaive, "2,2,40x70,72(v 24) f16 padding:70,33 bshd"},
    {kPlainMma, "1,2,100,96(v 64) f16"},
    {kPlainMma, "1,2,100,64(v 128) bf16 causal lse softcap 20 sink"},
    {kPlainMma, "1,2,100,72(v 40) f16 window:40,20"},
    {kMmaSplits, "1,2,100x200,192(v 128) bf16 causal lse alibi"},
    {kMmaSplits, "1,2,70,40(v 72) f16 prefix:40 bias 1,2,70,70"},
    {kMmaPacked, "2,4(kv 2),70,128(v 64) f16 padding:60,7 bshd"},
    {kMmaPacked, "1,4(kv 2),70,24(v 136) bf16 causal-window:20+document:33,37"},
    {kMmaPacked, "1,4(kv 2),70x40,8(v 16) f16 causal-upper-left lse"},
    {kSplit, "1,4(kv 2),3x300,96(v 64) f16 causal lse bias 1,4,3,300"},
    {kSplit, "2,2,5x300,64(v 136) bf16 padding:300,97 sink"},
    {kSplit, "1,2,5x300,72(v 24) f16 window:200,1 alibi"},
    {kPlainWgmma, "1,2,130,192(v 128) bf16 causal lse"},
    {kPlainWgmma, "1,2,100,64(v 136) f16 window:40,20 sink"},
    {kPlainWgmma, "1,2,100x130,72(v 24) f16 softcap 20 bias 1,2,100,130"},
    {kWgmmaLate, "1,1,130,96(v 64) f16 prefix:70 alibi"},
    {kWgmmaSplits, "2,1,130,64(v 160) bf16 padding:100,3 lse"},
    {kWgmmaCluster, "2,1,130,128(v 64) f16 causal+padding-left:100,130 lse"},
    {kWgmmaPersistent, "1,140,60,40(v 72) f16 window:9,9"},
    {kWgmmaPersistent, "1,140,64,72(v 24) f16 causal+document:40,0,24"},
    {kWgmmaPacked, "1,4(kv 2),100,64(v 8) bf16 causal-window:33 bshd"},
    {kWgmmaPacked, "1,4(kv 2),100x200,8(v 64) f16 causal-upper-left"},
    {kWgmmaStores, "1,2,100,64(v 72) f16"},
    {kInterleaved, "1,2,200,96(v 64) f16 prefix:70"},
    {kInterleaved, "1,2,130,64(v 128) bf16 softcap 3"},
};

/// Inputs whose sinks lie far above the scores or below them, and steep slopes.
const Distribution kHard[] = {Distribution::kUniform, Distribution::kOutliers,
                              Distribution::kLargeLogits, Distribution::kZeros,
                              Distribution::kOnesV};

/// Documents and tables as tensors, in sizes that are no multiples of blocks; elements past
/// TensorRanges::kMost; an index that is an element.
const MaskCase kWithTensors[] = {
    {kNaive, "1,2,70,64 f16 causal&&doc[q]==doc[k] lse tensor doc=i32[70]:0*33,1,2*36"},
    {kNaive, "2,3,40x70,64 f16 none score score+t[h][k-q+39] tensor t=f32[3][109]"},
    {kPlainMma, "1,2,300,64 f16 doc[q]==doc[k] lse tensor doc=i32[300]:0*64,1*100,2*136"},
    {kMmaSplits,
     "1,2,100x70,64 bf16 causal score score*t[k]+u[h] tensor t=f32[70]:0.5*9,2*61 "
     "tensor u=i32[2]:3,-1"},
    {kMmaPacked, "1,4(kv 2),70,64 f16 m[q][k]!=0 tensor m=i32[70][70]:1*4000,0*200,1*700 bshd"},
    {kSplit,
     "2,4(kv 2),3x300,64 f16 k<n[b] lse score score+t[h][k] tensor n=i32[2]:300,77 tensor "
     "t=f32[4][300]"},
    {kPlainWgmma, "1,2,300,64 f16 causal&&doc[q]==doc[k] tensor doc=i32[300]:0*90,4*100,2*110"},
    {kPlainWgmma, "1,2,130,64 f16 none lse score score+t[h][k-q+129] tensor t=f32[2][259]"},
    {kWgmmaLate,
     "1,1,200,64 f16 s[max(0,min(d[k],1))]>q tensor d=i32[200]:0*100,1*100 tensor "
     "s=i32[2]:70,201"},
    {kWgmmaSplits, "1,1,200,64 f16 doc[q]==doc[k] sink tensor doc=i32[200]:0*64,1*136"},
    {kWgmmaPacked,
     "1,4(kv 2),100,64 f16 doc[q]==doc[k] score score-t[h] tensor "
     "doc=i32[100]:0*33,1*67 tensor t=f32[4]"},
};

}  // namespace

static void check_accuracy(const MaskCase& which) {
  const auto& [variant, text] = which;
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

TEST_CASE("interpreted kernels with every mask pass the accuracy gate") {
  const auto which = static_cast<std::size_t>(
      GENERATE(Catch::Generators::range(0, static_cast<int>(std::size(kMasked)))));
  check_accuracy(kMasked[which]);
}

TEST_CASE("interpreted kernels with named tensors pass the accuracy gate") {
  const auto which = static_cast<std::size_t>(
      GENERATE(Catch::Generators::range(0, static_cast<int>(std::size(kWithTensors)))));
  check_accuracy(kWithTensors[which]);
}

TEST_CASE("the reference kernel with slopes, sinks and lengths is right on hard inputs") {
  for (const char* text : {"2,2,40,64 f16 causal+padding:40,7 lse alibi sink",
                           "1,2,40,64 bf16 document:13,27 lse alibi sink"}) {
    const Attention problem = test::problem(text);
    const auto candidate = bench().candidate("naive", "", problem);
    if (!candidate) FAIL(candidate.error().message);
    for (const Distribution inputs : kHard) {
      const ptx::Examined seen = ptx::examine(bench().setting(), expected_of(problem, inputs),
                                              *candidate, Asynchrony::kLate);
      INFO(text << ", " << name(inputs) << ": " << seen.reason);
      CHECK(seen.passed);
    }
  }
}

TEST_CASE("interpreted kernels give zeros where a bias hides all keys of a row") {
  for (const auto& [variant, text] :
       {MaskCase{kNaive, "1,2,70,64 bf16 none lse bias 1,2,70,70"},
        MaskCase{kPlainMma, "1,2,70,64 bf16 none lse bias 1,2,70,70"},
        MaskCase{kSplit, "1,2,3x300,64 f16 bias 1,2,3,300:f32"},
        MaskCase{kPlainWgmma, "1,2,70,64 f16 bias 1,1,70,70:f32"},
        MaskCase{kWgmmaLate, "1,2,128,64 bf16 none lse bias 1,2,128,128"}}) {
    const Attention problem = test::problem(text);
    INFO(variant.kernel << ", " << text);
    const auto candidate = bench().candidate(variant.kernel, variant.config, problem);
    if (!candidate) FAIL(candidate.error().message);
    const ptx::Examined seen =
        ptx::examine(bench().setting(), expected_of(problem, Distribution::kOutliers), *candidate,
                     Asynchrony::kLate);
    INFO(seen.reason);
    CHECK(seen.passed);
  }
}

TEST_CASE("interpreted kernels with a fault of their mask or optional tensors are refused for it") {
  struct Fault {
    const char* name;
    const char* problem;
  };
  for (const Fault& fault :
       {Fault{"wide_window", "1,2,128,64 f16 causal-window:24"},
        Fault{"wrong_corner", "1,2,128x192,64 f16 causal"},
        Fault{"wrong_corner", "1,2,128x96,64 f16 window:20,50"},
        Fault{"masks_whole_tiles", "1,2,128,64 f16 window:40,20"},
        Fault{"masks_whole_tiles", "1,2,128,64 f16 prefix:33"},
        Fault{"bias_of_neighbour_head", "1,2,128,64 f16 bias 1,2,128,128"},
        Fault{"sink_in_base_2", "1,2,128,64 f16 sink"},
        Fault{"sink_in_base_2", "1,2,128,64 f16 none lse sink"},
        Fault{"ignores_lengths", "2,2,128,64 f16 padding:97,35"},
        Fault{"ignores_lengths", "2,2,128,64 f16 causal+padding-left:97,35"},
        Fault{"ignores_tensors", "1,2,128,64 f16 doc[q]==doc[k] tensor doc=i32[128]:0*50,1*78"},
        Fault{"ignores_documents", "1,2,128,64 f16 document:50,0,78"}}) {
    INFO(fault.name << ", " << fault.problem);
    const Attention problem = test::problem(fault.problem);
    const auto candidate = bench().candidate("faults", std::string("FAULT=") + fault.name, problem);
    if (!candidate) FAIL(candidate.error().message);
    const ptx::Examined seen =
        ptx::examine(bench().setting(), expected_of(problem), *candidate, Asynchrony::kLate);
    CHECK_FALSE(seen.passed);
  }
}
