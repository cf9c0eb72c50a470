// c_header_test.cpp: Tests a C header's text; tests/export compiles and launches the header.
#include <catch2/catch_test_macros.hpp>
#include <fmt/format.h>

#include "export/export_kernel.hpp"
#include "export/formats.hpp"
#include "export_fixture.hpp"
#include "support/custom_operation.hpp"

using namespace fatune;

namespace {

ExportedKernel exported(const std::string& kernel, const Attention& problem) {
  ExportedKernel result;
  result.name = "attention";
  result.facts = *facts_of(test::default_candidate(kernel, problem), test::limits_of("sm_90a"));
  result.facts.command = "fatune sweep --out */tmp/*";
  result.cubin = std::string(
      "\x7f"
      "ELF\0\xff",
      6);
  return result;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// Two query heads share a key head; 512 queries, 1000 keys.
Attention fp8_problem(Quant quant) {
  Attention problem{.batch = 2, .heads = 8, .kv_heads = 4, .seq_q = 512, .seq_kv = 1000};
  problem.dtype = Dtype::kE4m3;
  problem.out_dtype = Dtype::kBf16;
  problem.quant = quant;
  return problem;
}

}  // namespace

TEST_CASE("no placeholder is left, and nothing ends a comment early") {
  const std::string text = c_header(exported("fa_wgmma", test::mission()));
  CHECK_FALSE(contains(text, "@"));
  CHECK(contains(text, "found by: fatune sweep --out * /tmp/ *"));
}

TEST_CASE("a command of several lines stays one line of a comment") {
  ExportedKernel kernel = exported("fa_mma", test::mission());
  kernel.facts.command = "fatune sweep --out 'a\n#error b'";
  CHECK(contains(c_header(kernel), " * found by: fatune sweep --out 'a #error b'\n"));
}

TEST_CASE("a scale has the digits of its value") {
  for (const auto& [scale, text] : {std::pair{0.125, "0.125"}, {0.1, "0.1"}, {1.0, "1.0"}}) {
    Attention problem = test::mission();
    problem.scale = scale;
    CHECK(contains(c_header(exported("fa_mma", problem)),
                   fmt::format("#define ATTENTION_SCALE {}\n", text)));
  }
}

TEST_CASE("the bytes are those of the machine code") {
  CHECK(contains(c_header(exported("fa_mma", test::mission())), "\n    127,69,76,70,0,255,\n}};"));
}

TEST_CASE("an unverified or recorded kernel says so in its first lines and in a constant") {
  ExportedKernel kernel = exported("fa_mma", test::mission());
  CHECK(c_header(kernel).find("NOT VERIFIED") < 200);
  CHECK(contains(c_header(kernel), "#define ATTENTION_VERIFIED 0"));
  kernel.facts.verified = true;
  kernel.facts.recorded = true;
  CHECK_FALSE(contains(c_header(kernel), "NOT VERIFIED"));
  CHECK(c_header(kernel).find("RECORDED") < 200);
  CHECK(contains(c_header(kernel), "#define ATTENTION_RECORDED 1"));
}

TEST_CASE("scratch and log-sum-exp are asked for only when the kernel needs them") {
  const std::string plain = c_header(exported("fa_mma", test::mission()));
  CHECK(contains(plain, "lse is not written: pass 0."));
  CHECK(contains(plain, "scratch is not needed: pass 0."));
  CHECK_FALSE(contains(plain, "scratch == 0"));
  Attention problem = test::mission();
  problem.lse = true;
  const std::string naive = c_header(exported("naive", problem));
  CHECK(contains(naive, "lse takes the log-sum-exp of each row"));
  CHECK(contains(naive, "scratch is device memory of attention_scratch_bytes()"));
  CHECK(contains(naive, "return 33554432u;"));
  CHECK(contains(naive, "scratch == 0 || scratch % 256 != 0"));
  CHECK(contains(naive, "CUfunction stages[3];"));
  ExportedKernel empty = exported("naive", problem);
  for (ScratchFacts& scratch : empty.facts.scratch) scratch.bytes = 0;
  CHECK(contains(c_header(empty), "scratch is not needed: pass 0."));
  CHECK_FALSE(contains(c_header(empty), "scratch == 0"));
}

TEST_CASE("tensors that are not contiguous are told with their strides") {
  Attention problem{.batch = 2, .heads = 8, .kv_heads = 4, .seq_q = 512, .seq_kv = 512};
  problem.layouts = *parse_layouts("packed");
  const std::string text = c_header(exported("fa_mma", problem));
  CHECK(contains(text,
                 " * them compiled in:\n"
                 " *   q: f16 [2, 8, 512, 64] by [524288, 64, 1024, 1]\n"
                 " *   k: f16 [2, 4, 512, 64] by [524288, 64, 1024, 1]\n"
                 " *   v: f16 [2, 4, 512, 64] by [524288, 64, 1024, 1]\n"
                 " *   out: f16 [2, 8, 512, 64] by [262144, 64, 512, 1]\n"
                 " * In the packed tensor q is first, k begins 512 elements further, v 768.\n"));
  CHECK(contains(text, "#define ATTENTION_K_ROW_STRIDE 1024\n"));
  CHECK(contains(text, "lse is not written: pass 0."));
  CHECK_FALSE(contains(text, "are contiguous"));
}

TEST_CASE("16-bit tensors have one type, and no factors") {
  const std::string text = c_header(exported("fa_mma", test::mission()));
  CHECK(contains(text, "#define ATTENTION_DTYPE \"f16\"\n"));
  CHECK_FALSE(contains(text, "OUT_DTYPE"));
  CHECK_FALSE(contains(text, "descale"));
  CHECK(contains(text, "||\n      (q | k | v | out) % 16 != 0) {"));
}

TEST_CASE("given factors are told with type and shape, and lie as floats do") {
  const std::string text = c_header(exported("fa_wgmma_fp8", fp8_problem(Quant::kGiven)));
  CHECK(contains(text, "#define ATTENTION_DTYPE \"e4m3\"\n#define ATTENTION_OUT_DTYPE \"bf16\"\n"));
  CHECK(contains(text,
                 " * q, k and v are e4m3, out is bf16. An element of q, k or v stands for itself "
                 "times a factor.\n"
                 " * Factors are fp32, contiguous, on 4 bytes each tensor:\n"
                 " *   q_descale, k_descale, v_descale: [batch, kv_heads], one for a key head\n"
                 " * A query head has the factors of the key head that it reads.\n"
                 " * lse is not written: pass 0.\n"));
  CHECK(contains(text,
                 "  if (q == 0 || k == 0 || v == 0 || q_descale == 0 || k_descale == 0 || "
                 "v_descale == 0 || out == 0 ||\n"
                 "      (q | k | v | out) % 16 != 0 ||\n"
                 "      (q_descale | k_descale | v_descale) % 4 != 0) {\n"));
}

TEST_CASE("factors are contiguous whatever the layout is") {
  Attention problem = fp8_problem(Quant::kGiven);
  problem.layouts = *parse_layouts("bshd");
  const std::string text = c_header(exported("fa_mma_fp8", problem));
  CHECK(contains(text,
                 " *   q: e4m3 [2, 8, 512, 64] by [262144, 64, 512, 1]\n"
                 " *   k: e4m3 [2, 4, 1000, 64] by [256000, 64, 256, 1]\n"
                 " *   v: e4m3 [2, 4, 1000, 64] by [256000, 64, 256, 1]\n"
                 " *   out: bf16 [2, 8, 512, 64] by [262144, 64, 512, 1]\n"
                 " * Each begins on 16 bytes. lse is not written: pass 0.\n"
                 " * q, k and v are e4m3, out is bf16."));
  CHECK(contains(text, " *   q_descale, k_descale, v_descale: [batch, kv_heads], one for"));
}

TEST_CASE("of a kernel that quantizes, the types are those of what it is passed") {
  for (const Quant quant : {Quant::kFused, Quant::kSmoothK}) {
    const std::string text = c_header(exported("fa_wgmma_fp8_fused", fp8_problem(quant)));
    CHECK(
        contains(text, "#define ATTENTION_DTYPE \"bf16\"\n#define ATTENTION_OUT_DTYPE \"bf16\"\n"));
    CHECK(contains(text,
                   " * q, k, v and out are bf16; the kernel itself quantizes q, k and v to "
                   "e4m3.\n"));
    CHECK_FALSE(contains(text, "descale"));
    CHECK(contains(text, "(q | k | v | out) % 16 != 0 || scratch == 0"));
  }
}

TEST_CASE("a custom operation is launched with its own tensors and sizes") {
  const KernelRef declared = test::custom_kernels().front();
  ExportedKernel kernel;
  kernel.name = "scale";
  kernel.facts = *facts_of(
      {declared, default_config(declared->manifest), test::custom_test_problem(512, 1024)},
      test::limits_of("sm_90a"));
  const std::string text = c_header(kernel);
  CHECK(text.starts_with(
      "/* scale.h - one scale kernel, for one problem: machine code and launch.\n"));
  CHECK_FALSE(contains(text, "@"));
  CHECK_FALSE(contains(text, "SCALE_SCALE"));
  CHECK_FALSE(contains(text, "CUdeviceptr lse"));
  CHECK(contains(text, "#define SCALE_SIZE_ROWS 512\n#define SCALE_SIZE_COLUMNS 1024\n"));
  CHECK(contains(text, " * y, sums of x, w for scale ROWS=512,COLUMNS=1024 f16\n"));
  CHECK(contains(text, " *   d_w: f32 [1024], read\n *   d_y: f16 [512, 1024], written\n"));
  CHECK(contains(
      text,
      "    const scale_kernel *kernel, CUdeviceptr d_x, CUdeviceptr d_w, CUdeviceptr d_y,\n"
      "    CUdeviceptr d_sums, CUdeviceptr scratch, CUstream stream);"));
  CHECK(contains(text, "(d_x | d_w | d_y | d_sums) % 16 != 0"));
  CHECK(contains(text, "arguments[3] = &d_sums;"));
  kernel.facts.stages.front().arguments = {"x", "i32 -1024", "f32 0.5"};
  CHECK(
      contains(c_header(kernel),
               "    void *arguments[3];\n    int32_t value_1 = -1024;\n    float value_2 = 0.5f;\n"
               "    arguments[0] = &d_x;\n    arguments[1] = &value_1;\n"
               "    arguments[2] = &value_2;\n"));
}

TEST_CASE("a launch with run-time sizes computes and checks its grid") {
  const auto kernels = test::load_custom(
      test::changed(test::kCustomReference, "\"meaning\": \"rows of x and y\"",
                    "\"runtime\": true"),
      test::changed(test::kCustomKernel, R"("grid": ["ROWS")",
                    R"x("cluster": ["2", "1", "1"], "grid": ["2 * max(ROWS, 3, (min(ROWS)))")x"));
  REQUIRE(kernels);
  ExportedKernel kernel;
  kernel.name = "scale";
  kernel.facts = *facts_of({kernels->front(), default_config(kernels->front()->manifest),
                            test::custom_test_problem(512, 1024)},
                           test::limits_of("sm_90a"));
  const std::string text = c_header(kernel);
  CHECK(text.starts_with("/* scale.h - one scale kernel, for any ROWS: machine code"));
  CHECK(contains(text, "#define SCALE_TUNED_ROWS 512\n#define SCALE_SIZE_COLUMNS 1024\n"));
  CHECK(contains(text, "CUdeviceptr d_sums, int64_t size_ROWS, CUdeviceptr scratch,"));
  CHECK(contains(text, " *   d_y: f16 [ROWS, 1024], written\n"));
  CHECK(contains(text,
                 "  const double grid_0[3] = {2.0 * scale_max(n_ROWS, scale_max(3.0, ((n_ROWS)))), "
                 "1.0, 1.0};\n"));
  CHECK(contains(text, "      scale_round_up(grid_0[0], 2.0) != grid_0[0] ||\n"));
  CHECK(contains(text, "(unsigned)grid_0[2], 64, 1, 1, 2, 1, 1};\n"));
}
