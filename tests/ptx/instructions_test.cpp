// instructions_test.cpp: Checks single instructions against the PTX ISA.
#include <bit>

#include <catch2/catch_test_macros.hpp>
#include <fmt/format.h>

#include "ptx/run_text.hpp"

using namespace fatune;

namespace {

/// Returns the value that `instruction` leaves in %r0, from %r1, %r2 and %r3.
std::uint32_t result_of(const std::string& instruction, std::uint32_t a, std::uint32_t b,
                        std::uint32_t c) {
  const std::string text =
      test::entry_of(fmt::format("mov.b32 %r1, {};\nmov.b32 %r2, {};\nmov.b32 %r3, {};\n{}\n"
                                 "st.global.u32 [%base], %r0;",
                                 a, b, c, instruction));
  std::vector<test::Buffer> buffers = {test::Buffer(4)};
  const Status run = test::run_text(text, {}, buffers);
  if (!run) FAIL(run.error().message);
  std::uint32_t result = 0;
  std::memcpy(&result, buffers[0].data(), sizeof result);
  return result;
}

std::uint32_t bits(float value) { return std::bit_cast<std::uint32_t>(value); }

struct Row {
  const char* instruction;
  std::uint32_t a, b, c, d;
};

const Row kIntegers[] = {
    {"add.s32 %r0, %r1, %r2;", 0xffffffff, 2, 0, 1},
    {"mul.hi.u32 %r0, %r1, %r2;", 0x80000000, 6, 0, 3},
    {"mul.hi.s32 %r0, %r1, %r2;", 0x80000000, 6, 0, 0xfffffffd},
    {"mad.lo.s32 %r0, %r1, %r2, %r3;", 7, 0xffffffff, 10, 3},
    {"mul.wide.s32 %d0, %r1, %r2; shr.s64 %d1, %d0, 32; cvt.u32.u64 %r0, %d1;", 0xffffffff, 5, 0,
     0xffffffff},
    {"shl.b32 %r0, %r1, %r2;", 1, 32, 0, 0},
    {"shr.s32 %r0, %r1, %r2;", 0x80000000, 40, 0, 0xffffffff},
    {"shr.u32 %r0, %r1, %r2;", 0x80000000, 31, 0, 1},
    {"shf.l.wrap.b32 %r0, %r1, %r2, %r3;", 0x80000000, 1, 33, 3},
    {"shf.r.clamp.b32 %r0, %r1, %r2, %r3;", 1, 0xabcd, 40, 0xabcd},
    {"prmt.b32 %r0, %r1, %r2, %r3;", 0x33221100, 0x77665544, 0x7531, 0x77553311},
    {"prmt.b32 %r0, %r1, %r2, %r3;", 0x00008000, 0, 0x9999, 0xffffffff},
    {"bfe.u32 %r0, %r1, %r2, %r3;", 0xabcd1234, 8, 8, 0x12},
    {"bfe.s32 %r0, %r1, %r2, %r3;", 0x0000ff00, 8, 8, 0xffffffff},
    {"bfi.b32 %r0, %r1, %r2, 8, 8;", 0xab, 0xffffffff, 0, 0xffffabff},
    {"lop3.b32 %r0, %r1, %r2, %r3, 0xEA;", 0xc, 0xa, 1, 9},
    {"min.s32 %r0, %r1, %r2;", 0xffffffff, 1, 0, 0xffffffff},
    {"popc.b32 %r0, %r1;", 0xf0f0, 0, 0, 8},
    {"clz.b32 %r0, %r1;", 0xff, 0, 0, 24},
    {"cvt.u16.u32 %h0, %r1; cvt.s32.s16 %r0, %h0;", 0x1ffff, 0, 0, 0xffffffff},
    {"setp.lt.u32 %p0, %r1, %r2; selp.b32 %r0, 7, 8, %p0;", 0xffffffff, 1, 0, 8},
    {"setp.lt.s32 %p0, %r1, %r2; @%p0 mov.u32 %r0, 7; @!%p0 mov.u32 %r0, 8;", 0xffffffff, 1, 0, 7},
    {"elect.sync _|%p0, 1; selp.b32 %r0, 1, 0, %p0;", 0, 0, 0, 1},
    {"{.reg .pred p; setp.eq.s32 p, %r1, 0; @p bra there; mov.u32 %r0, 1; bra end; there: "
     "mov.u32 %r0, 2; end: }",
     0, 0, 0, 2},
};

const Row kFloats[] = {
    {"fma.rn.f32 %r0, %r1, %r2, %r3;", bits(3), bits(4), bits(-2), bits(10)},
    {"max.f32 %r0, %r1, %r2;", 0x7fffffff, bits(-1), 0, bits(-1)},
    {"copysign.f32 %r0, %r1, %r2;", bits(-3), bits(2), 0, bits(-2)},
    {"ex2.approx.ftz.f32 %r0, %r1;", bits(-1), 0, 0, bits(0.5F)},
    {"ex2.approx.ftz.f32 %r0, %r1;", bits(-130), 0, 0, 0},
    {"cvt.rni.s32.f32 %r0, %r1;", bits(2.5F), 0, 0, 2},
    {"cvt.rzi.s32.f32 %r0, %r1;", bits(-2.9F), 0, 0, 0xfffffffe},
    {"cvt.rzi.u32.f32 %r0, %r1;", bits(-1), 0, 0, 0},
    {"cvt.rn.f32.s32 %r0, %r1;", 0xffffffff, 0, 0, bits(-1)},
    {"setp.ne.f32 %p0, %r1, %r1; selp.b32 %r0, 1, 0, %p0;", 0x7fffffff, 0, 0, 0},
    {"setp.neu.f32 %p0, %r1, %r1; selp.b32 %r0, 1, 0, %p0;", 0x7fffffff, 0, 0, 1},
    {"setp.gtu.f32 %p0, %r1, %r2; selp.b32 %r0, 1, 0, %p0;", bits(1), bits(2), 0, 0},
    {"max.NaN.f16x2 %r0, %r1, %r2;", 0x7fff3c00, 0x64006400, 0, 0x7fff6400},
    {"min.NaN.f16x2 %r0, %r1, %r2;", 0x7fff3c00, 0x64006400, 0, 0x7fff3c00},
    // The first source is the upper half.
    {"cvt.rn.f16x2.f32 %r0, %r1, %r2;", bits(1), bits(2), 0, 0x3c004000},
    {"cvt.rn.bf16x2.f32 %r0, %r1, %r2;", bits(1), bits(2), 0, 0x3f804000},
    {"cvt.rn.satfinite.e4m3x2.f32 %h0, %r1, %r2; cvt.u32.u16 %r0, %h0;", bits(1), bits(-1000), 0,
     0x38fe},
    {"cvt.rn.satfinite.e5m2x2.f32 %h0, %r1, %r2; cvt.u32.u16 %r0, %h0;", bits(1), bits(1e9F), 0,
     0x3c7b},
    {"cvt.u16.u32 %h0, %r1; cvt.rn.f16x2.e4m3x2 %r0, %h0;", 0x38c0, 0, 0, 0x3c00c000},
    {"cvt.rn.satfinite.e4m3x2.f16x2 %h0, %r1; cvt.u32.u16 %r0, %h0;", 0x3c00c000, 0, 0, 0x38c0},
    {"add.rn.f16x2 %r0, %r1, %r2;", 0x3c004000, 0x3c003c00, 0, 0x40004200},
    {"fma.rn.bf16x2 %r0, %r1, %r2, %r3;", 0x3f804000, 0x40004000, 0x3f803f80, 0x404040a0},
    {"max.u16x2 %r0, %r1, %r2;", 0x7f80'0001, 0x7fc0'0003, 0, 0x7fc0'0003},
    {"max.u16x2 %r0, %r1, %r2;", 0x8000'0005, 0x7fff'0003, 0, 0x8000'0005},
    {"max.f16x2 %r0, %r1, %r2;", 0x3c00c000, 0xbc003c00, 0, 0x3c003c00},
    {"ex2.approx.f16x2 %r0, %r1;", 0xbc000000, 0, 0, 0x38003c00},
};

}  // namespace

TEST_CASE("instructions of one thread give what the ISA says") {
  for (const auto rows : {std::span<const Row>(kIntegers), std::span<const Row>(kFloats)}) {
    for (const Row& row : rows) {
      INFO(row.instruction);
      CHECK(result_of(row.instruction, row.a, row.b, row.c) == row.d);
    }
  }
}

TEST_CASE("an instruction that is not known is refused by name and line") {
  std::vector<test::Buffer> buffers = {test::Buffer(4)};
  const Status run = test::run_text(test::entry_of("tex.2d.v4.f32.s32 %r0;"), {}, buffers);
  REQUIRE_FALSE(run);
  CHECK(run.error().message.find("line 10") != std::string::npos);
  CHECK(run.error().message.find("'tex.2d.v4.f32.s32'") != std::string::npos);
}

TEST_CASE("lanes exchange values as shfl, vote and movmatrix say") {
  const std::string text = test::entry_of(
      "shfl.sync.bfly.b32 %r1, %thread, 3, 31, -1;\n"
      "shfl.sync.down.b32 %r2|%p0, %thread, 4, 6175, -1;\n"  // segments of 8
      "selp.b32 %r3, 100, 0, %p0; add.s32 %r2, %r2, %r3;\n"
      "setp.lt.u32 %p1, %thread, 5; vote.sync.ballot.b32 %r4, %p1, -1;\n"
      "shl.b32 %r5, %thread, 17; or.b32 %r5, %r5, %thread;\n"
      "movmatrix.sync.aligned.m8n8.trans.b16 %r6, %r5;\n"
      "mul.wide.u32 %d0, %thread, 16; add.s64 %d1, %base, %d0;\n"
      "st.global.v4.u32 [%d1], {%r1, %r2, %r4, %r6};");
  std::vector<test::Buffer> buffers = {test::Buffer(32 * 16)};
  ptx::Launch launch;
  launch.block = {32, 1, 1};
  const Status run = test::run_text(text, launch, buffers);
  INFO((run ? "" : run.error().message));
  REQUIRE(run);
  std::uint32_t out[32][4];
  std::memcpy(out, buffers[0].data(), sizeof out);
  for (std::uint32_t lane = 0; lane < 32; ++lane) {
    CHECK(out[lane][0] == (lane ^ 3U));
    CHECK(out[lane][1] == (lane % 8 < 4 ? lane + 104 : lane));
    CHECK(out[lane][2] == 0x1f);
    // Lane 4i + j had elements 2j and 2j + 1 of row i: the lane's number, and twice that.
    const std::uint32_t row = lane / 4, column = 2 * (lane % 4);
    const std::uint32_t low = 4 * column + row / 2, high = 4 * (column + 1) + row / 2;
    const std::uint32_t factor = row % 2 + 1;
    CHECK(out[lane][3] == (low * factor | (high * factor) << 16U));
  }
}

TEST_CASE("threads that wait for each other are named with their lines") {
  const std::string text = test::entry_of(
      ".shared .align 8 .b8 barrier[8];\nmov.u32 %r0, barrier;\n"
      "setp.ne.u32 %p0, %thread, 0;\n@%p0 bra waits;\n"
      "mbarrier.init.shared::cta.b64 [%r0], 2;\nwaits: bar.sync 0;\n"
      "again: mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r0], 0;\n@!%p1 bra again;");
  std::vector<test::Buffer> buffers = {test::Buffer(4)};
  ptx::Launch launch;
  launch.block = {64, 1, 1};
  const Status run = test::run_text(text, launch, buffers);
  REQUIRE_FALSE(run);
  INFO(run.error().message);
  CHECK(run.error().message.find("wait for each other") != std::string::npos);
  CHECK(run.error().message.find("test, PTX line 16: mbarrier.try_wait.parity.shared::cta.b64: 64 "
                                 "threads, the first of them CTA (0, 0, 0), warp 0, lane 0") !=
        std::string::npos);
}

TEST_CASE("a copy that is not waited for has not arrived, unless it is early") {
  const std::string text = test::entry_of(
      ".shared .align 16 .b8 room[16];\nmov.u32 %r0, room;\n"
      "cp.async.ca.shared.global [%r0], [%base], 4;\ncp.async.commit_group;\n"
      "ld.shared.u32 %r1, [%r0];\ncp.async.wait_group 0;\nld.shared.u32 %r2, [%r0];\n"
      "st.global.v2.u32 [%base+8], {%r1, %r2};");
  for (const auto asynchrony : {ptx::Asynchrony::kLate, ptx::Asynchrony::kEarly}) {
    std::vector<test::Buffer> buffers = {test::Buffer(16, std::byte{1})};
    REQUIRE(test::run_text(text, {}, buffers, asynchrony));
    std::uint32_t out[4];
    std::memcpy(out, buffers[0].data(), sizeof out);
    CHECK((out[2] == 0x01010101) == (asynchrony == ptx::Asynchrony::kEarly));
    CHECK(out[3] == 0x01010101);
  }
}

TEST_CASE("values of st.async are there once their barrier's phase has ended") {
  const std::string text = test::entry_of(
      ".shared .align 16 .b8 room[16];\n.shared .align 8 .b8 barrier[8];\n"
      "mov.u32 %r0, room;\nmov.u32 %r1, barrier;\nmapa.shared::cluster.u32 %r2, %r0, 0;\n"
      "mapa.shared::cluster.u32 %r3, %r1, 0;\nmbarrier.init.shared::cta.b64 [%r1], 1;\n"
      "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.u32 [%r2], {5, 6, 7, 8}, "
      "[%r3];\n"
      "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1], 16;\nld.shared.u32 %r4, [%r0];\n"
      "again: mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r1], 0;\n@!%p1 bra again;\n"
      "ld.shared.u32 %r5, [%r0+12];\nst.global.v2.u32 [%base], {%r4, %r5};");
  for (const auto asynchrony : {ptx::Asynchrony::kLate, ptx::Asynchrony::kEarly}) {
    std::vector<test::Buffer> buffers = {test::Buffer(8)};
    const Status run = test::run_text(text, {}, buffers, asynchrony);
    INFO((run ? "" : run.error().message));
    REQUIRE(run);
    std::uint32_t out[2];
    std::memcpy(out, buffers[0].data(), sizeof out);
    CHECK((out[0] == 5) == (asynchrony == ptx::Asynchrony::kEarly));
    CHECK(out[1] == 8);
  }
}
