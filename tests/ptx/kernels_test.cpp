// kernels_test.cpp: Checks that the accuracy gate tells interpreted correct kernels from faulty
// ones. The correct kernels are known to be correct on a device.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators_range.hpp>

#include "core/file.hpp"
#include "core/text.hpp"
#include "ptx/bench.hpp"
#include "ptx/judge.hpp"
#include "ptx/workbench.hpp"
#include "support/temporary_folder.hpp"

using namespace fatune;
using ptx::Asynchrony;
using test::bench;
using test::expected_of;
using test::TemporaryFolder;

namespace {

/// A device of eight multiprocessors, which few work tiles fill.
const ptx::Workbench& small_bench() {
  static const Result<ptx::Workbench> opened = [] {
    auto made = ptx::Workbench::open("sm_90a");
    if (made) made->limits.sm_count = 8;
    return made;
  }();
  if (!opened && opened.error().kind == ErrorKind::kEnvironment) SKIP(opened.error().message);
  if (!opened) FAIL(opened.error().message);
  return *opened;
}

ptx::Examined examine(const std::string& kernel, const std::string& config,
                      const Attention& problem, Asynchrony asynchrony = Asynchrony::kLate,
                      Distribution inputs = Distribution::kNormal) {
  const auto candidate = bench().candidate(kernel, config, problem);
  if (!candidate) FAIL(candidate.error().message);
  return ptx::examine(bench().setting(), expected_of(problem, inputs), *candidate, asynchrony);
}

ptx::Examined examine(const std::string& kernel, const std::string& config,
                      const Attention& problem, Distribution inputs) {
  return examine(kernel, config, problem, Asynchrony::kLate, inputs);
}

Attention plain() { return *parse_shape("1,2,128,64"); }

/// Grouped heads, more keys than queries, lengths that are no multiple of a tile.
Attention ragged() {
  Attention problem{.batch = 1, .heads = 4, .kv_heads = 2, .seq_q = 40, .seq_kv = 200};
  problem.head_dim = 128;
  problem.dtype = Dtype::kBf16;
  problem.mask = Mask::kCausal;
  problem.lse = true;
  return problem;
}

Attention packed() {
  Attention problem = *parse_shape("2,2,72,64");
  problem.layouts = *parse_layouts("packed");
  problem.mask = Mask::kCausal;
  return problem;
}

Attention decoding() {
  return {.batch = 1, .heads = 4, .kv_heads = 2, .seq_q = 1, .seq_kv = 300, .head_dim = 128};
}

Attention in_fp8(Attention problem, Dtype dtype = Dtype::kE4m3, Dtype out = Dtype::kBf16) {
  problem.dtype = dtype;
  problem.out_dtype = out;
  return problem;
}

Attention fused(Attention problem, Dtype dtype = Dtype::kE4m3, Dtype out = Dtype::kBf16) {
  problem = in_fp8(std::move(problem), dtype, out);
  problem.quant = Quant::kFused;
  return problem;
}

Attention smooth_k(Attention problem, Dtype dtype = Dtype::kE4m3, Dtype out = Dtype::kBf16) {
  problem = fused(std::move(problem), dtype, out);
  problem.quant = Quant::kSmoothK;
  return problem;
}

/// More queries than keys, of which the first see none: a whole tile of them.
Attention unseeing() {
  Attention problem = *parse_shape("1,1,200,64");
  problem.seq_kv = 100;
  problem.mask = Mask::kCausal;
  return problem;
}

/// Keys of one KV block, which leaves other splits without any.
Attention one_block() {
  Attention problem = *parse_shape("1,2,65,64");
  problem.seq_kv = 63;
  return problem;
}

/// The config of kernels/faults that is wrong in this way.
std::string fault_config(const char* fault) { return std::string("FAULT=") + fault; }

struct Case {
  const char* kernel;
  const char* config;
  Attention problem;
};

// Cases for the paths of the kernels: copies, products, masks, splits, stores.
const Case kRight[] = {
    {"naive", "", ragged()},
    {"naive", "TILE=32", in_fp8(*parse_shape("1,1,48,64"))},
    {"fa_mma", "", plain()},
    {"fa_mma", "STAGES=2,INTRA_CTA_SPLITS=2,PACK_GQA=true,RESCALE=late", ragged()},
    {"fa_mma", "BLOCK_M=32,NUM_WARPS=2,Q_IN_REGS=true,KV_ORDER=backward", packed()},
    {"fa_split", "", decoding()},
    {"fa_split", "NUM_SPLITS=3,STAGES=3,COMBINE_THREADS=2,LAUNCH=dependent", decoding()},
    {"fa_wgmma", "", plain()},
    {"fa_wgmma", "PACK_GQA=true,STAGES=3,INTRA_WG_OVERLAP=on,PINGPONG=false", ragged()},
    {"fa_wgmma", "BLOCK_M=64,PINGPONG=false,MMA_PV=ss,STORE=tma,KV_ORDER=backward", packed()},
    {"fa_wgmma", "SCHEDULER=static_persistent,EX2_EMULATED=2,RESCALE=always", packed()},
    {"fa_wgmma", "BLOCK_M=64,PINGPONG=false,CLUSTER_SPLITS=2", plain()},
    {"fa_wgmma", "BLOCK_M=64,BLOCK_N=64,PINGPONG=false,INTRA_CTA_SPLITS=2",
     *parse_shape("1,1,128,96")},
    {"fa_wgmma", "RESCALE=late,INTRA_WG_OVERLAP=on,KV_ORDER=backward", packed()},
    {"fa_wgmma", "RESCALE=late,INTRA_WG_OVERLAP=off,PINGPONG=false,SCHEDULER=static_persistent",
     ragged()},
    {"fa_wgmma_interleaved", "", plain()},
    {"fa_wgmma_interleaved", "BLOCK_M=64,BLOCK_N=80,ROW_SUM=mma,STORE=tma", packed()},
    {"fa_wgmma_interleaved", "BLOCK_M=64,CLUSTER_SPLITS=2", plain()},
    {"fa_wgmma", "BLOCK_M=64,PINGPONG=false,CLUSTER_SPLITS=2,INTRA_CTA_SPLITS=2", plain()},
    {"fa_mma_fp8", "", in_fp8(plain())},
    {"fa_split_fp8", "", in_fp8(decoding(), Dtype::kE5m2)},
    {"fa_wgmma_fp8", "", in_fp8(plain())},
    {"fa_wgmma_fp8", "", in_fp8(ragged(), Dtype::kE4m3, Dtype::kF16)},
    {"fa_wgmma_fp8", "", in_fp8(packed(), Dtype::kE5m2)},
    {"fa_wgmma_fp8", "INTRA_WG_OVERLAP=off,PINGPONG=false", in_fp8(*parse_shape("1,1,192,256"))},
    {"fa_wgmma_fp8", "BLOCK_M=64,INTRA_CTA_SPLITS=2,INTRA_WG_OVERLAP=off,PINGPONG=false",
     in_fp8(*parse_shape("1,1,128,192"))},
    {"fa_wgmma_fp8", "BLOCK_M=64,PINGPONG=false", in_fp8(unseeing())},
    {"fa_wgmma_fp8", "BLOCK_M=64,PINGPONG=false,INTRA_WG_OVERLAP=on,CLUSTER_SPLITS=2",
     in_fp8(one_block())},
    {"fa_wgmma", "BLOCK_M=64,PINGPONG=false,INTRA_WG_OVERLAP=on", unseeing()},
    {"fa_wgmma_fp8", "PV_COLUMNS=32,RESCALE=lazy", in_fp8(ragged())},
    {"fa_wgmma_fp8", "BLOCK_N=128,PROMOTE=half,PV_COLUMNS=32", in_fp8(ragged())},
    {"fa_wgmma_fp8", "PROMOTE=pair,PV_COLUMNS=256,RESCALE=lazy", in_fp8(ragged())},
    {"fa_wgmma_fp8", "PROMOTE=quad,PV_COLUMNS=256,RESCALE=lazy,ROW_SUM=mma,EX2_LINEAR=8",
     in_fp8(*parse_shape("1,1,200,64"))},
    {"fa_wgmma_fp8", "PV_COLUMNS=256,RESCALE=lazy,ROW_SUM=mma,EX2_LINEAR=16,SCORES=f16",
     in_fp8(*parse_shape("1,1,200,128"), Dtype::kE5m2)},
    {"fa_wgmma_fp8", "PACK_GQA=true,KV_ORDER=backward,ROW_SUM=mma,EX2_LINEAR=16,SCORES=f16",
     in_fp8(packed())},
    {"fa_wgmma_fp8", "BLOCK_M=64,PINGPONG=false,ROW_SUM=mma,EX2_LINEAR=16,SCORES=f16",
     in_fp8(unseeing())},
    {"fa_wgmma_fp8", "SCHEDULER=static_persistent,ROW_SUM=mma,EX2_LINEAR=16,SCORES=f16",
     in_fp8(*parse_shape("1,2,300,64"))},
    {"fa_wgmma_fp8_interleaved", "", in_fp8(packed())},
    {"fa_wgmma_fp8_interleaved", "PROMOTE=pair,ROW_SUM=mma,EX2_LINEAR=16",
     in_fp8(*parse_shape("1,1,192,128"))},
    {"fa_wgmma_fp8_interleaved", "PROMOTE=pair,ROW_SUM=mma", in_fp8(*parse_shape("1,1,192,64"))},
    {"fa_wgmma_fp8_interleaved",
     "PROMOTE=never,ROW_SUM=mma,EX2_LINEAR=16,SCORES=f16,FIRST_LOADS=qkv",
     in_fp8(*parse_shape("1,1,200,64"), Dtype::kE5m2)},
    {"fa_wgmma_fp8_fused", "", fused(plain())},
    {"fa_wgmma_fp8_fused", "QUANT_CLUSTER=2,QUANT_THREADS=256", fused(ragged())},
    {"fa_wgmma_fp8_fused",
     "QUANT_CLUSTER=1,QUANT_KEEP=nothing,QUANT_THREADS=256,V_TRANSPOSED_BY=producer",
     fused(packed(), Dtype::kE5m2, Dtype::kF16)},
    {"fa_wgmma_fp8_fused", "PROMOTE=pair,PV_COLUMNS=256,RESCALE=lazy,ROW_SUM=mma", fused(packed())},
    {"fa_wgmma_fp8_fused", "QUANT_CLUSTER=2,QUANT_KEEP=nothing", smooth_k(packed())},
    {"fa_wgmma", "", fused(plain())},  // in the 16 bits that the problem is given in
};

}  // namespace

TEST_CASE("interpreted kernels pass the accuracy gate, whenever asynchronous work is carried out") {
  const auto which = static_cast<std::size_t>(
      GENERATE(Catch::Generators::range(0, static_cast<int>(std::size(kRight)))));
  const Case& each = kRight[which];
  INFO(each.kernel << " " << each.config << ", " << describe(each.problem));
  for (const Asynchrony asynchrony : {Asynchrony::kLate, Asynchrony::kEarly}) {
    const ptx::Examined seen = examine(each.kernel, each.config, each.problem, asynchrony);
    INFO(seen.reason);
    CHECK(seen.passed);
    CHECK(seen.margin < 1);
  }
}

TEST_CASE("interpreted kernels take head dims that are no multiple of 16, of a box or of a split") {
  struct Way {
    const char* kernel;
    const char* config;
    const char* layout;
    Mask mask;
  };
  const Way which = GENERATE(
      Way{"fa_mma", "", "bhsd", Mask::kNone},
      Way{"fa_mma", "BLOCK_M=32,INTRA_CTA_SPLITS=2,PACK_GQA=true,Q_IN_REGS=true", "bshd",
          Mask::kCausal},
      Way{"fa_split", "", "bshd", Mask::kCausal},
      Way{"fa_split", "NUM_SPLITS=2,STAGES=3,COMBINE_ROWS=2", "bhsd", Mask::kNone},
      Way{"fa_wgmma", "STORE=registers,SCHEDULER=static_persistent", "bshd", Mask::kCausal},
      Way{"fa_wgmma", "BLOCK_M=64,PINGPONG=false,MMA_PV=ss,STORE=tma,INTRA_WG_OVERLAP=on", "bhsd",
          Mask::kNone},
      Way{"fa_wgmma_interleaved", "STORE=tma", "bshd", Mask::kCausal},
      Way{"fa_wgmma_interleaved", "BLOCK_M=64", "bhsd", Mask::kNone});
  INFO(which.kernel << " " << which.config);
  for (const int head_dim : {8, 24, 40, 72, 80, 88, 96, 104, 112, 136, 160}) {
    Attention problem = {.batch = 1, .heads = 4, .kv_heads = 2, .seq_q = 40, .seq_kv = 72};
    problem.head_dim = head_dim;
    problem.layouts = *parse_layouts(which.layout);
    problem.mask = which.mask;
    problem.dtype = which.mask == Mask::kCausal ? Dtype::kBf16 : Dtype::kF16;
    INFO(describe(problem));
    const ptx::Examined seen = examine(which.kernel, which.config, problem);
    INFO(seen.reason);
    CHECK(seen.passed);
    CHECK(seen.margin < 1);
  }
}

TEST_CASE("interpreted tiles of the last wave are combined at a head dim of 72") {
  for (const std::int64_t value_dim : {72, 136}) {
    Attention problem = with_value_dim(*parse_shape("1,5,256,72"), value_dim);
    problem.layouts = *parse_layouts("bshd");
    const auto candidate =
        small_bench().candidate("fa_wgmma_stream_k", "BLOCK_M=64,PINGPONG=false", problem);
    if (!candidate) FAIL(candidate.error().message);
    const ptx::Examined seen =
        ptx::examine(small_bench().setting(), expected_of(problem), *candidate, Asynchrony::kLate);
    INFO(seen.reason);
    CHECK(seen.passed);
  }
}

TEST_CASE("interpreted persistent kernels go on to other work tiles") {
  const std::string persistent = "SCHEDULER=static_persistent,BLOCK_N=64,";
  const std::string pairs =
      "GRID_ORDER=paired,STORE=registers,BLOCK_M=64,PINGPONG=false,INTRA_WG_OVERLAP=on,RESCALE="
      "late";
  Attention ragged = *parse_shape("1,5,70,64");
  ragged.dtype = Dtype::kBf16;
  // Pairs of long and short work tiles: of one head, and of two whose three tiles are an odd
  // number; the last round has few pairs.
  Attention one = *parse_shape("1,10,66,64"), two = *parse_shape("1,6,129,64");
  one.mask = two.mask = Mask::kCausal;
  const Case cases[] = {
      {"fa_wgmma", "BLOCK_M=128,PINGPONG=true,INTRA_WG_OVERLAP=on,RESCALE=late",
       *parse_shape("1,12,128,64")},
      {"fa_wgmma_fp8", "BLOCK_M=128,PINGPONG=true", in_fp8(*parse_shape("1,12,128,64"))},
      {"fa_wgmma", "STORE=registers,BLOCK_M=64,PINGPONG=false,INTRA_WG_OVERLAP=on", ragged},
      {"fa_wgmma", pairs.c_str(), one},
      {"fa_wgmma", pairs.c_str(), two}};
  for (const Case& each : cases) {
    INFO(each.kernel << " " << each.config << ", " << describe(each.problem));
    const auto candidate =
        small_bench().candidate(each.kernel, persistent + each.config, each.problem);
    if (!candidate) FAIL(candidate.error().message);
    const ptx::Examined seen = ptx::examine(small_bench().setting(), expected_of(each.problem),
                                            *candidate, Asynchrony::kLate);
    INFO(seen.reason);
    CHECK(seen.passed);
  }
}

TEST_CASE("interpreted work tiles come in sections of heads") {
  // As if K and V of at most 100,000 bytes had room in the L2 cache: three heads, then two.
  const TemporaryFolder folder;
  const auto kernels = folder / "kernels";
  std::filesystem::copy(std::filesystem::path(FATUNE_SOURCE_DIR) / "kernels", kernels,
                        std::filesystem::copy_options::recursive);
  const auto manifest = kernels / "fa_wgmma" / "fa_wgmma.json";
  std::string text = *read_file(manifest);
  const std::string budget = "1000000 * L2_SECTION_MB";
  REQUIRE(text.find(budget) != std::string::npos);
  REQUIRE(replace_file(manifest,
                       text.replace(text.find(budget), budget.size(), "5000 * L2_SECTION_MB")));
  const auto small_cache = ptx::Workbench::open("sm_90a", {kernels});
  if (!small_cache && small_cache.error().kind == ErrorKind::kEnvironment) SKIP("no NVRTC");
  REQUIRE(small_cache);
  Attention problem = *parse_shape("1,5,128,64");
  problem.mask = Mask::kCausal;
  const auto candidate = small_cache->candidate(
      "fa_wgmma", "GRID_ORDER=l2_swizzle,BLOCK_M=64,PINGPONG=false,INTRA_WG_OVERLAP=on", problem);
  if (!candidate) FAIL(candidate.error().message);
  CHECK(std::ranges::count(macros_of(*candidate, small_cache->limits), "SECTION_HEADS=3") == 1);
  CHECK(ptx::examine(small_cache->setting(), expected_of(problem), *candidate, Asynchrony::kLate)
            .passed);
}

TEST_CASE("interpreted kernels with a fault are refused for it") {
  struct Fault {
    const char* name;
    Mask mask;
    const char* reason;
  };
  for (const Fault& fault : {
           Fault{"wrong_mask", Mask::kCausal, "max: "},
           Fault{"skips_last_tile", Mask::kNone, "mean: "},
           Fault{"half_sums", Mask::kNone, "mean: "},
           Fault{"leaves_part_unwritten", Mask::kNone, "finite: "},
           Fault{"out_of_bounds_write_guard", Mask::kNone,
                 "outside of out of 32768 bytes at 32768"},
           Fault{"reads_past_shared", Mask::kNone, "outside of shared memory"},
           Fault{"misaligned", Mask::kNone, "not aligned in k"},
           Fault{"traps", Mask::kNone, "gives up"},
       }) {
    INFO(fault.name);
    Attention problem = plain();
    problem.mask = fault.mask;
    const ptx::Examined seen = examine("faults", fault_config(fault.name), problem);
    CHECK_FALSE(seen.passed);
    INFO(seen.reason);
    CHECK(seen.reason.find(fault.reason) != std::string::npos);
  }
}

TEST_CASE("interpreted kernels with a fault of fp8 are refused, where f16 has no such fault") {
  for (const char* fault : {"fp8_zeros", "fp8_without_descale", "fp8_factor_of_keys",
                            "fp8_factor_of_first_head", "fp8_saturates"}) {
    INFO(fault);
    const ptx::Examined seen = examine("faults", fault_config(fault), in_fp8(plain()));
    CHECK_FALSE(seen.passed);
    CHECK(seen.margin > 2);
  }
}

TEST_CASE("promoted sums of fp8 products keep values of 1 at 512 keys") {
  Attention problem = in_fp8(*parse_shape("1,1,128,64"));
  problem.seq_kv = 512;
  const std::pair<std::string, std::string> right[] = {
      {"fa_wgmma_fp8", "PV_COLUMNS=32"},
      {"fa_wgmma_fp8", "BLOCK_N=128,PROMOTE=half,RESCALE=lazy"},
      {"fa_wgmma_fp8", "PROMOTE=pair,PV_COLUMNS=256,RESCALE=lazy"},
      {"fa_wgmma_fp8", "BLOCK_N=128,PROMOTE=quad,PV_COLUMNS=256,RESCALE=lazy,ROW_SUM=mma"},
      {"fa_wgmma_fp8_interleaved", "PROMOTE=pair,ROW_SUM=mma"},
      {"fa_wgmma_fp8_interleaved", "PROMOTE=never,ROW_SUM=mma"},
      {"fa_wgmma_fp8_interleaved", "PROMOTE=pair"},
      {"fa_wgmma_fp8_interleaved", ""}};
  for (const auto& [kernel, config] : right) {
    const ptx::Examined seen = examine(kernel, config, problem, Distribution::kOnesV);
    INFO(kernel << " " << config << ": " << seen.reason);
    CHECK(seen.passed);
    CHECK(seen.mean_abs < 0.002);
  }
  const auto never = bench().candidate("fa_wgmma_fp8", "PROMOTE=never,PV_COLUMNS=256", problem);
  REQUIRE_FALSE(never);
  CHECK(never.error().message.find("13 bits") != std::string::npos);
}

TEST_CASE("linear exponentials keep what outliers leave of the other keys") {
  Attention problem = in_fp8(*parse_shape("1,2,256,64"));
  problem.seq_kv = 512;
  const std::pair<std::string, std::string> rows[] = {
      {"fa_wgmma_fp8", "PV_COLUMNS=256,ROW_SUM=mma,EX2_LINEAR=16"},
      {"fa_wgmma_fp8", "PV_COLUMNS=256,RESCALE=lazy,ROW_SUM=mma,EX2_LINEAR=16"},
      {"fa_wgmma_fp8", "ROW_SUM=mma,EX2_LINEAR=16,SCORES=f16"},
      {"fa_wgmma_fp8", "RESCALE=lazy,ROW_SUM=mma,EX2_LINEAR=16,SCORES=f16"},
      {"fa_wgmma_fp8_interleaved", "PROMOTE=never,ROW_SUM=mma,EX2_LINEAR=16"},
      {"fa_wgmma_fp8_interleaved",
       "PROMOTE=never,ROW_SUM=mma,EX2_LINEAR=16,SCORES=f16,BLOCK_N=128"}};
  for (const auto& [kernel, config] : rows) {
    const ptx::Examined seen = examine(kernel, config, problem, Distribution::kOutliers);
    INFO(kernel << " " << config << ": " << seen.reason << " margin " << seen.margin);
    CHECK(seen.passed);
  }
}

TEST_CASE("a weight of half a row, rounded, is no error of a kernel in fp8") {
  Attention problem = in_fp8(*parse_shape("1,3,127,96"));
  problem.seq_kv = 129;
  for (const char* kernel : {"fa_mma_fp8", "fa_wgmma_fp8", "fa_wgmma_fp8_interleaved"}) {
    const ptx::Examined seen = examine(kernel, "", problem, Distribution::kOutliers);
    INFO(kernel << ": " << seen.reason);
    CHECK(seen.passed);
    CHECK(seen.margin < 0.5);
  }
}

TEST_CASE("P that has come out too large is computed once more") {
  Attention problem = *parse_shape("1,2,128,64");
  problem.seq_kv = 448;
  const std::pair<std::string, std::string> late[] = {
      {"fa_mma", "RESCALE=late"},
      {"fa_wgmma", "RESCALE=late,INTRA_WG_OVERLAP=on"},
      {"fa_wgmma", "RESCALE=late,INTRA_WG_OVERLAP=on,PINGPONG=false,BLOCK_M=64,KV_ORDER=backward"},
      {"fa_wgmma", "RESCALE=late,INTRA_WG_OVERLAP=off,PINGPONG=false"}};
  for (const auto& [kernel, config] : late) {
    INFO(kernel << " " << config);
    const ptx::Examined seen = examine(kernel, config, problem, Distribution::kOutliers);
    INFO(seen.reason);
    CHECK(seen.passed);
  }
}

TEST_CASE("an offset that all keys share costs no bits where K is smoothed") {
  Attention problem = smooth_k(ragged(), Dtype::kE4m3, Dtype::kF16);
  REQUIRE(problem.lse);
  const auto expected = ptx::expect(bench().setting(), *bench().kernel("naive"), problem);
  REQUIRE(expected);
  for (const Quant quant : {Quant::kSmoothK, Quant::kFused}) {
    problem.quant = quant;
    const auto candidate = bench().candidate("fa_wgmma_fp8_fused", "", problem);
    REQUIRE(candidate);
    const ptx::Examined seen =
        ptx::examine(bench().setting(), *expected, *candidate, Asynchrony::kLate);
    INFO(name(quant) << ": " << seen.reason);
    CHECK(seen.passed == (quant == Quant::kSmoothK));
  }
}

TEST_CASE("a kernel that quantizes is right about heads of zeros and heads that are not finite") {
  Attention problem = fused({.batch = 1, .heads = 6, .kv_heads = 3, .seq_q = 48, .seq_kv = 80});
  problem.lse = true;
  problem.mask = Mask::kCausal;
  for (const Distribution inputs : {Distribution::kZeros, Distribution::kNotFinite}) {
    INFO(name(inputs));
    for (const char* right : {"fa_wgmma_fp8_fused", "fa_wgmma"}) {
      const ptx::Examined seen = examine(right, "", problem, inputs);
      INFO(right << ": " << seen.reason);
      CHECK(seen.passed);
    }
  }
}

TEST_CASE("kernels that quantize wrongly are refused for it") {
  struct Fault {
    const char* name;
    Distribution inputs;
    const char* reason;
  };
  const Attention problem = fused(*parse_shape("1,4,64,64"));
  for (const Fault& fault : {
           Fault{"fp8_fused_divides_by_zero", Distribution::kZeros, "finite: "},
           Fault{"fp8_fused_drops_infinity", Distribution::kNotFinite, "not_finite: "},
           Fault{"fp8_fused_factor_of_first_head", Distribution::kNormal, ": "},
       }) {
    INFO(fault.name);
    const ptx::Examined seen = examine("faults", fault_config(fault.name), problem, fault.inputs);
    INFO(seen.reason);
    CHECK_FALSE(seen.passed);
    CHECK(seen.reason.find(fault.reason) != std::string::npos);
  }
}

TEST_CASE("kernels that do not wait for asynchronous work are refused") {
  struct Mistake {
    const char* kernel;
    const char* wait;  ///< text that is taken out
    Asynchrony asynchrony;
  };
  Attention problem = plain();
  problem.seq_kv = 320;  // more tiles than stages
  for (const Mistake& mistake : {
           Mistake{"fa_mma", "cp_async_wait<max_of(STAGES, 2) - 1>();", Asynchrony::kLate},
           Mistake{"fa_wgmma", "mbarrier_wait(storage.q_full(row_block), q_phase);",
                   Asynchrony::kLate},
           Mistake{"fa_wgmma",
                   "mbarrier_wait(consumer.storage.pv_full(before.stage), before.phase);",
                   Asynchrony::kLate},
           Mistake{"fa_wgmma", "wgmma_wait<1>();", Asynchrony::kLate},
           Mistake{"fa_wgmma", "mbarrier_wait(barrier, (count / kStages + 1) % 2);",
                   Asynchrony::kEarly},
       }) {
    INFO(mistake.kernel << " without " << mistake.wait);
    auto candidate = bench().candidate(mistake.kernel, "", problem);
    REQUIRE(candidate);
    REQUIRE(examine(mistake.kernel, "", problem, mistake.asynchrony).passed);
    Kernel changed = *candidate->kernel;
    const std::string before = changed.source.text;
    changed.source.text = replaced(before, mistake.wait, ";");
    bool found = changed.source.text != before;
    for (SourceFile& header : changed.headers) {
      std::string text = replaced(header.text, mistake.wait, ";");
      found = found || text != header.text;
      header.text = std::move(text);
    }
    REQUIRE(found);
    candidate->kernel = std::make_shared<const Kernel>(std::move(changed));
    const ptx::Examined seen =
        ptx::examine(bench().setting(), expected_of(problem), *candidate, mistake.asynchrony);
    INFO(seen.reason);
    CHECK_FALSE(seen.passed);
  }
}
