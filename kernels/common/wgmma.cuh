// wgmma.cuh: Issues wgmma m64nNk16, of fp8 m64nNk32 (sm_90a): B by descriptor from swizzled shared
// memory, A likewise (SS) or from registers (RS).
//
// A tile in shared memory is a row of boxes: rows of 128 bytes under the 128-byte swizzle, eight of
// them an atom of 1024 bytes, as TMA writes them; or of 64 bytes, under the 64-byte swizzle.
//
// Which accumulators thread t of the warpgroup holds (warp w = t / 32, g = t % 32 / 4,
// c = t % 4 * 2), by 8-column tile n: [4n], [4n + 1] row 16w + g, columns 8n + c and the next;
// [4n + 2], [4n + 3] row 16w + g + 8, the same columns. An A operand in registers has the layout of
// two such tiles, packed; of fp8, whose operands are always K-major, of four, with the columns in
// another order (pack_p in mma_softmax.cuh).
#pragma once

#include "common/prelude.cuh"

#if DTYPE == DTYPE_F16
#define WGMMA_QK_TYPES "k16.f32.f16.f16"
#define WGMMA_QK_F16_TYPES "k16.f16.f16.f16"
#define WGMMA_PV_TYPES WGMMA_QK_TYPES
#elif DTYPE == DTYPE_BF16
#define WGMMA_QK_TYPES "k16.f32.bf16.bf16"
#define WGMMA_QK_F16_TYPES "none"
#define WGMMA_PV_TYPES WGMMA_QK_TYPES
#elif DTYPE == DTYPE_E4M3
#define WGMMA_QK_TYPES "k32.f32.e4m3.e4m3"
#define WGMMA_QK_F16_TYPES "k32.f16.e4m3.e4m3"
#define WGMMA_PV_TYPES WGMMA_QK_TYPES
#else
#define WGMMA_QK_TYPES "k32.f32.e5m2.e5m2"
#define WGMMA_QK_F16_TYPES "k32.f16.e5m2.e5m2"
#define WGMMA_PV_TYPES "k32.f32.e4m3.e5m2"
#endif

// Which operands in shared memory are MN-major: fp8 has no choice, and no words for it.
#if DTYPE == DTYPE_F16 || DTYPE == DTYPE_BF16
#define WGMMA_SS_MAJOR(b) ", 0, " b
#define WGMMA_RS_MAJOR ", 1"
#else
#define WGMMA_SS_MAJOR(b)
#define WGMMA_RS_MAJOR
#endif

// ---- descriptors: address / 16 in bits 0-13, byte offsets / 16 in 16-29 (leading) and 32-45
// (stride), swizzle in 62 ----

constexpr u64 kSwizzle128 = 1ull << 62;
constexpr u64 kSwizzle64 = 2ull << 62;
constexpr u64 kAtomStride = 1024 / 16;  // from eight rows to the next eight

/// In a cluster the bits above an address within a CTA hold the CTA's rank: they must not reach the
/// next field.
DEVICE u64 address_field(u32 tile) { return (tile & 0x3ffffu) / 16; }

/// K-major: rows are M or N, columns the GEMM's K dimension: Q, K, P, and fp8's transposed V. A
/// k-step, 32 bytes of a row, is kKStep further within a box.
template <int kRowBytes = 128>
DEVICE u64 make_smem_desc_k_major(u32 tile) {
  static_assert(kRowBytes == 128 || kRowBytes == 64, "boxes are as wide as their swizzle");
  return address_field(tile) | 1ull << 16 | kAtomStride * kRowBytes / 128 << 32 |
         (kRowBytes == 128 ? kSwizzle128 : kSwizzle64);
}
constexpr u64 kKStep = 32 / 16;

/// MN-major: rows are the GEMM's K dimension, columns N: V. `box_bytes` is the distance of two
/// boxes. A k-step of 16 rows is kMnStep further.
DEVICE u64 make_smem_desc_mn_major(u32 tile, int box_bytes) {
  return address_field(tile) | static_cast<u64>(box_bytes / 16) << 16 | kAtomStride << 32 |
         kSwizzle128;
}
constexpr u64 kMnStep = 16 * 128 / 16;

// ---- order: fence, wgmmas, commit, wait ----

/// Makes registers written before visible to the wgmmas after it.
DEVICE void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }

/// Closes a group of wgmmas.
DEVICE void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }

/// Waits until at most kPending of the latest groups are in flight.
template <int kPending>
DEVICE void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
}

/// Pins register values to this point of the program: what precedes computes them, what follows
/// uses them. The compiler knows nothing of wgmmas in flight, and would move uses of accumulators
/// before the wait, or new A operands before the old ones were read.
template <int kCount>
DEVICE void pin(float* values) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) asm volatile("" : "+f"(values[i])::"memory");
}

template <int kCount>
DEVICE void pin(u32* values) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) asm volatile("" : "+r"(values[i])::"memory");
}

// ---- wgmma: asm statements made by N, which must be a plain number ----
// N / 2 accumulators come first among an asm statement's operands, so each N has its list of them
// and the names of the operands behind.

#define WGMMA_EIGHT(m, c, i)                                                     \
  m((c)[i]), m((c)[i + 1]), m((c)[i + 2]), m((c)[i + 3]), m((c)[i + 4]), m((c)[i + 5]), \
      m((c)[i + 6]), m((c)[i + 7])

#define WGMMA_FOUR(m, c, i) m((c)[i]), m((c)[i + 1]), m((c)[i + 2]), m((c)[i + 3])

#define WGMMA_NAMES_8 "%0, %1, %2, %3"
#define WGMMA_NAMES_16 "%0, %1, %2, %3, %4, %5, %6, %7"
#define WGMMA_NAMES_24 WGMMA_NAMES_16 ", " "%8, %9, %10, %11"
#define WGMMA_NAMES_32 WGMMA_NAMES_16 ", " "%8, %9, %10, %11, %12, %13, %14, %15"
#define WGMMA_NAMES_40 WGMMA_NAMES_32 ", " "%16, %17, %18, %19"
#define WGMMA_NAMES_48 WGMMA_NAMES_32 ", " "%16, %17, %18, %19, %20, %21, %22, %23"
#define WGMMA_NAMES_56 WGMMA_NAMES_48 ", " "%24, %25, %26, %27"
#define WGMMA_NAMES_64 WGMMA_NAMES_48 ", " "%24, %25, %26, %27, %28, %29, %30, %31"
#define WGMMA_NAMES_72 WGMMA_NAMES_64 ", " "%32, %33, %34, %35"
#define WGMMA_NAMES_80 WGMMA_NAMES_64 ", " "%32, %33, %34, %35, %36, %37, %38, %39"
#define WGMMA_NAMES_88 WGMMA_NAMES_80 ", " "%40, %41, %42, %43"
#define WGMMA_NAMES_96 WGMMA_NAMES_80 ", " "%40, %41, %42, %43, %44, %45, %46, %47"
#define WGMMA_NAMES_104 WGMMA_NAMES_96 ", " "%48, %49, %50, %51"
#define WGMMA_NAMES_112 WGMMA_NAMES_96 ", " "%48, %49, %50, %51, %52, %53, %54, %55"
#define WGMMA_NAMES_120 WGMMA_NAMES_112 ", " "%56, %57, %58, %59"
#define WGMMA_NAMES_128 WGMMA_NAMES_112 ", " "%56, %57, %58, %59, %60, %61, %62, %63"
#define WGMMA_NAMES_136 WGMMA_NAMES_128 ", " "%64, %65, %66, %67"
#define WGMMA_NAMES_144 WGMMA_NAMES_128 ", " "%64, %65, %66, %67, %68, %69, %70, %71"
#define WGMMA_NAMES_152 WGMMA_NAMES_144 ", " "%72, %73, %74, %75"
#define WGMMA_NAMES_160 WGMMA_NAMES_144 ", " "%72, %73, %74, %75, %76, %77, %78, %79"
#define WGMMA_NAMES_168 WGMMA_NAMES_160 ", " "%80, %81, %82, %83"
#define WGMMA_NAMES_176 WGMMA_NAMES_160 ", " "%80, %81, %82, %83, %84, %85, %86, %87"
#define WGMMA_NAMES_184 WGMMA_NAMES_176 ", " "%88, %89, %90, %91"
#define WGMMA_NAMES_192 WGMMA_NAMES_176 ", " "%88, %89, %90, %91, %92, %93, %94, %95"
#define WGMMA_NAMES_200 WGMMA_NAMES_192 ", " "%96, %97, %98, %99"
#define WGMMA_NAMES_208 WGMMA_NAMES_192 ", " "%96, %97, %98, %99, %100, %101, %102, %103"
#define WGMMA_NAMES_216 WGMMA_NAMES_208 ", " "%104, %105, %106, %107"
#define WGMMA_NAMES_224 WGMMA_NAMES_208 ", " "%104, %105, %106, %107, %108, %109, %110, %111"
#define WGMMA_NAMES_232 WGMMA_NAMES_224 ", " "%112, %113, %114, %115"
#define WGMMA_NAMES_240 WGMMA_NAMES_224 ", " "%112, %113, %114, %115, %116, %117, %118, %119"
#define WGMMA_NAMES_248 WGMMA_NAMES_240 ", " "%120, %121, %122, %123"
#define WGMMA_NAMES_256 WGMMA_NAMES_240 ", " "%120, %121, %122, %123, %124, %125, %126, %127"

#define WGMMA_SUMS_8(m, c) WGMMA_FOUR(m, c, 0)
#define WGMMA_SUMS_16(m, c) WGMMA_EIGHT(m, c, 0)
#define WGMMA_SUMS_24(m, c) WGMMA_SUMS_16(m, c), WGMMA_FOUR(m, c, 8)
#define WGMMA_SUMS_32(m, c) WGMMA_SUMS_16(m, c), WGMMA_EIGHT(m, c, 8)
#define WGMMA_SUMS_40(m, c) WGMMA_SUMS_32(m, c), WGMMA_FOUR(m, c, 16)
#define WGMMA_SUMS_48(m, c) WGMMA_SUMS_32(m, c), WGMMA_EIGHT(m, c, 16)
#define WGMMA_SUMS_56(m, c) WGMMA_SUMS_48(m, c), WGMMA_FOUR(m, c, 24)
#define WGMMA_SUMS_64(m, c) WGMMA_SUMS_48(m, c), WGMMA_EIGHT(m, c, 24)
#define WGMMA_SUMS_72(m, c) WGMMA_SUMS_64(m, c), WGMMA_FOUR(m, c, 32)
#define WGMMA_SUMS_80(m, c) WGMMA_SUMS_64(m, c), WGMMA_EIGHT(m, c, 32)
#define WGMMA_SUMS_88(m, c) WGMMA_SUMS_80(m, c), WGMMA_FOUR(m, c, 40)
#define WGMMA_SUMS_96(m, c) WGMMA_SUMS_80(m, c), WGMMA_EIGHT(m, c, 40)
#define WGMMA_SUMS_104(m, c) WGMMA_SUMS_96(m, c), WGMMA_FOUR(m, c, 48)
#define WGMMA_SUMS_112(m, c) WGMMA_SUMS_96(m, c), WGMMA_EIGHT(m, c, 48)
#define WGMMA_SUMS_120(m, c) WGMMA_SUMS_112(m, c), WGMMA_FOUR(m, c, 56)
#define WGMMA_SUMS_128(m, c) WGMMA_SUMS_112(m, c), WGMMA_EIGHT(m, c, 56)
#define WGMMA_SUMS_136(m, c) WGMMA_SUMS_128(m, c), WGMMA_FOUR(m, c, 64)
#define WGMMA_SUMS_144(m, c) WGMMA_SUMS_128(m, c), WGMMA_EIGHT(m, c, 64)
#define WGMMA_SUMS_152(m, c) WGMMA_SUMS_144(m, c), WGMMA_FOUR(m, c, 72)
#define WGMMA_SUMS_160(m, c) WGMMA_SUMS_144(m, c), WGMMA_EIGHT(m, c, 72)
#define WGMMA_SUMS_168(m, c) WGMMA_SUMS_160(m, c), WGMMA_FOUR(m, c, 80)
#define WGMMA_SUMS_176(m, c) WGMMA_SUMS_160(m, c), WGMMA_EIGHT(m, c, 80)
#define WGMMA_SUMS_184(m, c) WGMMA_SUMS_176(m, c), WGMMA_FOUR(m, c, 88)
#define WGMMA_SUMS_192(m, c) WGMMA_SUMS_176(m, c), WGMMA_EIGHT(m, c, 88)
#define WGMMA_SUMS_200(m, c) WGMMA_SUMS_192(m, c), WGMMA_FOUR(m, c, 96)
#define WGMMA_SUMS_208(m, c) WGMMA_SUMS_192(m, c), WGMMA_EIGHT(m, c, 96)
#define WGMMA_SUMS_216(m, c) WGMMA_SUMS_208(m, c), WGMMA_FOUR(m, c, 104)
#define WGMMA_SUMS_224(m, c) WGMMA_SUMS_208(m, c), WGMMA_EIGHT(m, c, 104)
#define WGMMA_SUMS_232(m, c) WGMMA_SUMS_224(m, c), WGMMA_FOUR(m, c, 112)
#define WGMMA_SUMS_240(m, c) WGMMA_SUMS_224(m, c), WGMMA_EIGHT(m, c, 112)
#define WGMMA_SUMS_248(m, c) WGMMA_SUMS_240(m, c), WGMMA_FOUR(m, c, 120)
#define WGMMA_SUMS_256(m, c) WGMMA_SUMS_240(m, c), WGMMA_EIGHT(m, c, 120)

#define WGMMA_REST_8 "%4", "%5", "%6", "%7", "%8", "%9"
#define WGMMA_REST_16 "%8", "%9", "%10", "%11", "%12", "%13"
#define WGMMA_REST_24 "%12", "%13", "%14", "%15", "%16", "%17"
#define WGMMA_REST_32 "%16", "%17", "%18", "%19", "%20", "%21"
#define WGMMA_REST_40 "%20", "%21", "%22", "%23", "%24", "%25"
#define WGMMA_REST_48 "%24", "%25", "%26", "%27", "%28", "%29"
#define WGMMA_REST_56 "%28", "%29", "%30", "%31", "%32", "%33"
#define WGMMA_REST_64 "%32", "%33", "%34", "%35", "%36", "%37"
#define WGMMA_REST_72 "%36", "%37", "%38", "%39", "%40", "%41"
#define WGMMA_REST_80 "%40", "%41", "%42", "%43", "%44", "%45"
#define WGMMA_REST_88 "%44", "%45", "%46", "%47", "%48", "%49"
#define WGMMA_REST_96 "%48", "%49", "%50", "%51", "%52", "%53"
#define WGMMA_REST_104 "%52", "%53", "%54", "%55", "%56", "%57"
#define WGMMA_REST_112 "%56", "%57", "%58", "%59", "%60", "%61"
#define WGMMA_REST_120 "%60", "%61", "%62", "%63", "%64", "%65"
#define WGMMA_REST_128 "%64", "%65", "%66", "%67", "%68", "%69"
#define WGMMA_REST_136 "%68", "%69", "%70", "%71", "%72", "%73"
#define WGMMA_REST_144 "%72", "%73", "%74", "%75", "%76", "%77"
#define WGMMA_REST_152 "%76", "%77", "%78", "%79", "%80", "%81"
#define WGMMA_REST_160 "%80", "%81", "%82", "%83", "%84", "%85"
#define WGMMA_REST_168 "%84", "%85", "%86", "%87", "%88", "%89"
#define WGMMA_REST_176 "%88", "%89", "%90", "%91", "%92", "%93"
#define WGMMA_REST_184 "%92", "%93", "%94", "%95", "%96", "%97"
#define WGMMA_REST_192 "%96", "%97", "%98", "%99", "%100", "%101"
#define WGMMA_REST_200 "%100", "%101", "%102", "%103", "%104", "%105"
#define WGMMA_REST_208 "%104", "%105", "%106", "%107", "%108", "%109"
#define WGMMA_REST_216 "%108", "%109", "%110", "%111", "%112", "%113"
#define WGMMA_REST_224 "%112", "%113", "%114", "%115", "%116", "%117"
#define WGMMA_REST_232 "%116", "%117", "%118", "%119", "%120", "%121"
#define WGMMA_REST_240 "%120", "%121", "%122", "%123", "%124", "%125"
#define WGMMA_REST_248 "%124", "%125", "%126", "%127", "%128", "%129"
#define WGMMA_REST_256 "%128", "%129", "%130", "%131", "%132", "%133"

#define WGMMA_CALL(macro, ...) macro(__VA_ARGS__)

#define WGMMA_SS_TEXT(mn_major, n, names, a, b, add, ...)                          \
  "{.reg .pred p; setp.ne.b32 p, " add ", 0; wgmma.mma_async.sync.aligned.m64n" #n \
  WGMMA_QK_TYPES " {" names "}, " a ", " b ", p, 1, 1" WGMMA_SS_MAJOR(mn_major) ";}"

#define WGMMA_RS_TEXT(n, types, names, a0, a1, a2, a3, b, add)                     \
  "{.reg .pred p; setp.ne.b32 p, " add ", 0; wgmma.mma_async.sync.aligned.m64n" #n \
  types " {" names "}, {" a0 ", " a1 ", " a2 ", " a3 "}, " b ", p, 1, 1" WGMMA_RS_MAJOR ";}"

#define WGMMA_SS_(name, io, mn_major, n, add)                                            \
  DEVICE void name(float* acc, u64 a, u64 b) {                                           \
    asm volatile(WGMMA_CALL(WGMMA_SS_TEXT, mn_major, n, WGMMA_NAMES_##n, WGMMA_REST_##n) \
                 : WGMMA_SUMS_##n(io, acc)                                               \
                 : "l"(a), "l"(b), "r"(add));                                            \
  }

/// Defines name(acc, a, b): acc += A B^T, and zero(acc, a, b): acc = A B^T; A and B K-major. What
/// acc was before is no input of the latter: the compiler need not keep it in its place.
#define WGMMA_DEFINE_QK(name, zero, n) WGMMA_DEFINE_QK_(name, zero, n)
#define WGMMA_DEFINE_QK_(name, zero, n) \
  WGMMA_SS_(name, "+f", "0", n, 1)       \
  WGMMA_SS_(zero, "=f", "0", n, 0)

/// Defines name(acc, a, b): acc += A B, A K-major, B MN-major.
#define WGMMA_DEFINE_PV_SS(name, n) WGMMA_DEFINE_PV_SS_(name, n)
#define WGMMA_DEFINE_PV_SS_(name, n) WGMMA_SS_(name, "+f", "1", n, 1)

/// Defines name(acc, a, b, add) with A in registers, four packed ones; of fp8, B K-major: acc = A
/// B, and acc more where `add` is not 0.
#define WGMMA_DEFINE_PV_RS(name, n) WGMMA_DEFINE_RS(name, n, WGMMA_PV_TYPES)
/// The same of the types of QK^T.
#define WGMMA_DEFINE_QK_RS(name, n) WGMMA_DEFINE_RS(name, n, WGMMA_QK_TYPES)
#define WGMMA_DEFINE_RS(name, n, types)                                                \
  DEVICE void name(float* acc, const u32* a, u64 b, u32 add) {                         \
    asm volatile(WGMMA_CALL(WGMMA_RS_TEXT, n, types, WGMMA_NAMES_##n, WGMMA_REST_##n)  \
                 : WGMMA_SUMS_##n("+f", acc)                                           \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(add));      \
  }

/// Defines name(acc, a, b) and zero(acc, a, b) of fp8 as WGMMA_DEFINE_QK does, but with A in
/// registers and sums in f16: a register of acc has two neighbours of a row. `half` is n / 2, a
/// plain number.
#define WGMMA_DEFINE_QK_F16(name, zero, n, half) WGMMA_DEFINE_QK_F16_(name, zero, n, half)
#define WGMMA_DEFINE_QK_F16_(name, zero, n, half) \
  WGMMA_QK_F16_(name, "+r", n, half, 1)            \
  WGMMA_QK_F16_(zero, "=r", n, half, 0)
#define WGMMA_QK_F16_(name, io, n, half, add)                                                  \
  DEVICE void name(u32* acc, const u32* a, u64 b) {                                          \
    asm volatile(WGMMA_CALL(WGMMA_RS_TEXT, n, WGMMA_QK_F16_TYPES, WGMMA_NAMES_##half,         \
                            WGMMA_REST_##half)                                                 \
                 : WGMMA_SUMS_##half(io, acc)                                                  \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(add));              \
  }
