// tensor_core_test.cpp: Checks tensor core products against plain products. The test lays out
// fragments and shared-memory tiles by hand, as the PTX ISA draws them.
#include <algorithm>
#include <cmath>
#include <utility>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <fmt/format.h>

#include "core/text.hpp"
#include "model/problem/dtype.hpp"
#include "ptx/run_text.hpp"
#include "ptx/workbench.hpp"
#include "worker/verify/inputs.hpp"

using namespace fatune;

namespace {

// a is M x SPAN and b is N x SPAN bytes, row-major: c = a b^T, M x N.
constexpr const char* kMma = R"(
#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)
extern "C" __global__ void product(const unsigned char* a, const unsigned char* b, float* c) {
  const int lane = threadIdx.x, group = lane / 4, member = lane % 4;
  const auto word = [](const unsigned char* from) { return *reinterpret_cast<const unsigned*>(from); };
  const unsigned char* row = a + group * SPAN + 4 * member;
  const unsigned char* column = b + group * SPAN + 4 * member;
#if HALF
  unsigned sums[2] = {0, 0};
  asm volatile("mma.sync.aligned.m16n8k" TEXT(K) ".row.col.f16." TEXT(A_TYPE) "." TEXT(B_TYPE)
      ".f16 {%0, %1}, {%2, %3, %4, %5}, {%6, %7}, {%0, %1};"
      : "+r"(sums[0]), "+r"(sums[1])
      : "r"(word(row)), "r"(word(row + 8 * SPAN)), "r"(word(row + 16)), "r"(word(row + 8 * SPAN + 16)),
        "r"(word(column)), "r"(word(column + 16)));
  float values[4];
  for (int i = 0; i < 4; ++i) {
    const unsigned short half = sums[i / 2] >> (i % 2 * 16);
    asm("cvt.f32.f16 %0, %1;" : "=f"(values[i]) : "h"(half));
  }
#else
  float values[4] = {0, 0, 0, 0};
  asm volatile("mma.sync.aligned.m16n8k" TEXT(K) ".row.col.f32." TEXT(A_TYPE) "." TEXT(B_TYPE)
      ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(values[0]), "+f"(values[1]), "+f"(values[2]), "+f"(values[3])
      : "r"(word(row)), "r"(word(row + 8 * SPAN)), "r"(word(row + 16)), "r"(word(row + 8 * SPAN + 16)),
        "r"(word(column)), "r"(word(column + 16)));
#endif
  for (int i = 0; i < 4; ++i) c[(group + i / 2 * 8) * 8 + 2 * member + i % 2] = values[i];
}
)";

// Rows of SPAN bytes under the swizzle of that many, A's 64 and then B's 16.
constexpr const char* kWgmma = R"(
#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)
#if HALF
#define SUM_TYPE "f16"
#define SUM_NAMES "{%0, %1, %2, %3}, "
#define SUMS(m) m "r"(sums[0]), m "r"(sums[1]), m "r"(sums[2]), m "r"(sums[3])
#else
#define SUM_TYPE "f32"
#define SUM_NAMES "{%0, %1, %2, %3, %4, %5, %6, %7}, "
#define SUMS(m) m "f"(sums[0]), m "f"(sums[1]), m "f"(sums[2]), m "f"(sums[3]), \
                m "f"(sums[4]), m "f"(sums[5]), m "f"(sums[6]), m "f"(sums[7])
#endif
#define WGMMA "wgmma.mma_async.sync.aligned.m64n16k" TEXT(K) "." SUM_TYPE "." TEXT(A_TYPE) "." TEXT(B_TYPE) " "
__shared__ __align__(1024) unsigned char tiles[80 * SPAN];

__device__ unsigned long long descriptor(unsigned tile) {
  const unsigned long long swizzle = SPAN == 128 ? 1 : SPAN == 64 ? 2 : 3;
  return (tile & 0x3ffff) >> 4 | 1ull << 16 | (8ull * SPAN / 16) << 32 | swizzle << 62;
}

extern "C" __global__ void product(const unsigned char* a, const unsigned char* b, float* c) {
  const int thread = threadIdx.x, warp = thread / 32, group = thread % 32 / 4, member = thread % 4;
  for (int i = thread; i < 80 * SPAN / 16; i += 128) {
    const int row = i / (SPAN / 16), chunk = i % (SPAN / 16);
    const unsigned char* from = row < 64 ? a + row * SPAN : b + (row - 64) * SPAN;
    const int place = chunk ^ (SPAN == 128 ? row % 8 : SPAN == 64 ? row / 2 % 4 : row / 4 % 2);
    *reinterpret_cast<uint4*>(tiles + row * SPAN + 16 * place) =
        reinterpret_cast<const uint4*>(from)[chunk];
  }
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  const unsigned tile = static_cast<unsigned>(__cvta_generic_to_shared(tiles));
#if HALF
  unsigned sums[4];
#else
  float sums[8];
#endif
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
  for (int step = 0; step < SPAN / 32; ++step) {
    const unsigned long long left = descriptor(tile + 32 * step);
    const unsigned long long right = descriptor(tile + 64 * SPAN + 32 * step);
#if REGISTERS
    const unsigned char* row = a + (16 * warp + group) * SPAN + 32 * step + 4 * member;
    const auto word = [](const unsigned char* from) { return *reinterpret_cast<const unsigned*>(from); };
    asm volatile("{.reg .pred p; setp.ne.b32 p, %" TEXT(AFTER_A_REGISTERS) ", 0; " WGMMA SUM_NAMES
        A_REGISTERS ", p, 1, 1;}"
        : SUMS("+")
        : "r"(word(row)), "r"(word(row + 8 * SPAN)), "r"(word(row + 16)),
          "r"(word(row + 8 * SPAN + 16)), "l"(right), "r"(step));
#else
    asm volatile("{.reg .pred p; setp.ne.b32 p, %" TEXT(AFTER_A) ", 0; " WGMMA SUM_NAMES
        A_DESCRIPTOR ", p, 1, 1" TRANSPOSE ";}"
        : SUMS("+") : "l"(left), "l"(right), "r"(step));
#endif
  }
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
  float* out = c + (16 * warp + group) * 16 + 2 * member;
  for (int i = 0; i < 8; ++i) {
#if HALF
    const unsigned short half = sums[i / 2] >> (i % 2 * 16);
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(half));
#else
    const float value = sums[i];
#endif
    out[i / 2 % 2 * 8 * 16 + i / 4 * 8 + i % 2] = value;
  }
}
)";

struct Form {
  Dtype a, b;
  int span;  ///< bytes of K
  bool half, registers;
};

const ptx::Workbench& tensor_core_bench() {
  static const Result<ptx::Workbench> opened = ptx::Workbench::open("sm_90a");
  if (!opened && opened.error().kind == ErrorKind::kEnvironment) SKIP(opened.error().message);
  if (!opened) FAIL(opened.error().message);
  return *opened;
}

CompileRequest request_of(const char* text, const Form& form) {
  const auto define = [](const std::string& macro, const auto& value) {
    return fmt::format("{}={}", macro, value);
  };
  const int first = form.half ? 4 : 8;
  CompileRequest request;
  request.label = "product";
  request.source = {"test/product.cu", text};
  request.arch = {90, 'a'};
  request.macros = {define("SPAN", form.span),
                    define("K", 32 / size_of(form.a)),
                    define("HALF", form.half ? 1 : 0),
                    define("REGISTERS", form.registers ? 1 : 0),
                    define("A_TYPE", name(form.a)),
                    define("B_TYPE", name(form.b)),
                    define("AFTER_A_REGISTERS", first + 5),
                    define("AFTER_A", first + 2),
                    fmt::format("A_REGISTERS=\"{{%{}, %{}, %{}, %{}}}, %{}\"", first, first + 1,
                                first + 2, first + 3, first + 4),
                    fmt::format("A_DESCRIPTOR=\"%{}, %{}\"", first, first + 1),
                    define("TRANSPOSE", size_of(form.a) == 2 ? "\", 0, 0\"" : "\"\"")};
  return request;
}

/// Returns `rows` times `span` bytes of elements from N(0,1).
test::Buffer matrix(Dtype dtype, int rows, int span, std::uint64_t seed) {
  test::Buffer bytes(static_cast<std::size_t>(rows * span));
  const auto width = static_cast<std::size_t>(size_of(dtype));
  for (std::size_t i = 0; i < bytes.size() / width; ++i) {
    const auto draw = static_cast<std::uint16_t>(random_bits(seed, 0, i));
    const std::uint16_t element = encode(dtype, normal_value(draw));
    std::memcpy(&bytes[i * width], &element, width);
  }
  return bytes;
}

double element(Dtype dtype, const test::Buffer& bytes, std::size_t index) {
  std::uint16_t bits = 0;
  const auto width = static_cast<std::size_t>(size_of(dtype));
  std::memcpy(&bits, &bytes[index * width], width);
  return decode(dtype, bits);
}

/// Interprets the text over these buffers.
Status run(const char* text, const Form& form, std::vector<test::Buffer>& buffers,
           unsigned threads) {
  const auto compiled = tensor_core_bench().compiler.ptx(request_of(text, form));
  if (!compiled) FAIL(compiled.error().message);
  ptx::Launch launch;
  launch.block = {threads, 1, 1};
  return test::run_text(*compiled, launch, buffers);
}

/// Interprets the text: a and b to c of `sums` elements, the last of the buffers.
std::vector<test::Buffer> interpret(const char* text, const Form& form, test::Buffer a,
                                    test::Buffer b, int sums, unsigned threads) {
  std::vector<test::Buffer> buffers = {std::move(a), std::move(b),
                                       test::Buffer(static_cast<std::size_t>(4 * sums))};
  const Status done = run(text, form, buffers, threads);
  if (!done) FAIL(done.error().message);
  return buffers;
}

/// Interprets the text with m rows of A and n of B, and compares with plain sums.
void check_product(const char* text, const Form& form, int m, int n, unsigned threads,
                   double allowed) {
  const std::vector<test::Buffer> buffers = interpret(
      text, form, matrix(form.a, m, form.span, 1), matrix(form.b, n, form.span, 2), m * n, threads);
  const auto k = static_cast<std::size_t>(form.span / size_of(form.a));
  double worst = 0;
  for (std::size_t row = 0; row < static_cast<std::size_t>(m); ++row) {
    for (std::size_t column = 0; column < static_cast<std::size_t>(n); ++column) {
      double sum = 0;
      for (std::size_t i = 0; i < k; ++i)
        sum +=
            element(form.a, buffers[0], row * k + i) * element(form.b, buffers[1], column * k + i);
      float value = 0;
      std::memcpy(&value, &buffers[2][4 * (row * static_cast<std::size_t>(n) + column)], 4);
      worst = std::max(worst, std::abs(value - sum));
    }
  }
  CHECK(worst <= allowed);
}

/// The first sum of a chain of wgmmas, of A all `factor` and B 1.875 * 2^-5 after a first 256.
float chained_sum(Dtype dtype, float factor) {
  const Form form{dtype, dtype, 128, false, false};
  const auto filled = [&](int rows, float value) {
    test::Buffer bytes(static_cast<std::size_t>(rows * form.span));
    const auto width = static_cast<std::size_t>(size_of(dtype));
    const std::uint16_t element = encode(dtype, value);
    for (std::size_t at = 0; at < bytes.size(); at += width)
      std::memcpy(&bytes[at], &element, width);
    return bytes;
  };
  test::Buffer b = filled(16, 0.05859375F);
  const std::uint16_t first = encode(dtype, 256.0F);
  std::memcpy(b.data(), &first, static_cast<std::size_t>(size_of(dtype)));
  float sum = 0;
  std::memcpy(&sum, interpret(kWgmma, form, filled(64, factor), b, 64 * 16, 128)[2].data(), 4);
  return sum;
}

}  // namespace

TEST_CASE("wgmma of fp8 drops what lies 13 bits below the largest product or sum, of f16 nothing") {
  // The tensor core keeps 2^-5 of each product behind the first, 13 bits below 256.
  CHECK(chained_sum(Dtype::kE4m3, 1) == 256 + 127 * 0.03125F);
  CHECK(chained_sum(Dtype::kE4m3, -1) == -256 - 127 * 0.03125F);
  CHECK(chained_sum(Dtype::kE4m3, 0.5F) == 128 + 127 * 0.015625F);
  CHECK(chained_sum(Dtype::kF16, 1) == 256 + 63 * 0.05859375F);
}

TEST_CASE("wgmma has one answer for a warpgroup to whether it adds") {
  const std::string text = replaced(kWgmma, "\"r\"(step)", "\"r\"(step + warp)");
  const Form form{Dtype::kE4m3, Dtype::kE4m3, 128, false, GENERATE(false, true)};
  std::vector<test::Buffer> buffers = {matrix(form.a, 64, form.span, 1),
                                       matrix(form.b, 16, form.span, 2), test::Buffer(4 * 64 * 16)};
  const Status done = run(text.c_str(), form, buffers, 128);
  REQUIRE_FALSE(done);
  CHECK(done.error().message.find("only some of them add") != std::string::npos);
}

TEST_CASE("mma.sync multiplies fragments of f16, bf16 and fp8") {
  constexpr auto kE4m3 = Dtype::kE4m3, kE5m2 = Dtype::kE5m2;
  const Form form =
      GENERATE(Form{kE4m3, kE4m3, 32, false, false}, Form{kE5m2, kE5m2, 32, false, false},
               Form{kE4m3, kE5m2, 32, false, false}, Form{kE5m2, kE4m3, 32, false, false},
               Form{Dtype::kF16, Dtype::kF16, 32, false, false},
               Form{Dtype::kF16, Dtype::kF16, 32, true, false},
               Form{Dtype::kBf16, Dtype::kBf16, 32, false, false});
  INFO(name(form.a) << " " << name(form.b) << (form.half ? " to f16" : ""));
  check_product(kMma, form, 16, 8, 32, form.half ? 0.05 : 1e-4);
}

TEST_CASE("wgmma multiplies tiles of swizzled shared memory, and fragments") {
  constexpr auto kE4m3 = Dtype::kE4m3, kE5m2 = Dtype::kE5m2;
  const Form form =
      GENERATE(Form{kE4m3, kE4m3, 128, false, false}, Form{kE4m3, kE4m3, 64, false, true},
               Form{kE5m2, kE4m3, 128, false, true}, Form{kE4m3, kE5m2, 64, false, false},
               Form{kE5m2, kE5m2, 32, false, false}, Form{kE4m3, kE4m3, 128, true, true},
               Form{Dtype::kF16, Dtype::kF16, 128, false, false},
               Form{Dtype::kF16, Dtype::kF16, 64, true, false});
  INFO(name(form.a) << " " << name(form.b) << ", K of " << form.span << " bytes"
                    << (form.half ? ", to f16" : "") << (form.registers ? ", A in registers" : ""));
  const bool fp8 = size_of(form.a) == 1;
  check_product(kWgmma, form, 64, 16, 128, form.half || fp8 ? 0.05 : 1e-4);
}
