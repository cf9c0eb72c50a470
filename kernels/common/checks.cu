// checks.cu: Checks memory around every candidate: compares bytes with a pattern, sums them, times
// reads, swaps memory, turns signs and holds the stream. It is no attention kernel; it is compiled
// by itself, without macros.

using i64 = long long;
using u8 = unsigned char;
using u64 = unsigned long long;

/// findings[0] += number of bytes that are not `pattern`; findings[1] = min(findings[1], offset of
/// the first).
extern "C" __global__ void check_pattern(const u8* data, u64 bytes, unsigned pattern,
                                         u64* findings) {
  const u64 step = static_cast<u64>(gridDim.x) * blockDim.x;
  for (u64 i = static_cast<u64>(blockIdx.x) * blockDim.x + threadIdx.x; i < bytes; i += step) {
    if (data[i] == pattern) continue;
    atomicAdd(&findings[0], 1ull);
    atomicMin(&findings[1], i);
  }
}

/// findings[0] += sum over 4-byte words of a mix of word and place; the last words may be cut
/// short.
extern "C" __global__ void check_sum(const u8* data, u64 bytes, u64* findings) {
  const u64 words = bytes / 4;
  const u64 step = static_cast<u64>(gridDim.x) * blockDim.x;
  const u64 first = static_cast<u64>(blockIdx.x) * blockDim.x + threadIdx.x;
  const unsigned* aligned = reinterpret_cast<const unsigned*>(data);
  u64 sum = 0;
  for (u64 i = first; i < words; i += step) {
    const u64 x = (aligned[i] + (i << 32 | i >> 32)) * 0x9e3779b97f4a7c15ull;
    sum += (x ^ x >> 29) * 0xbf58476d1ce4e5b9ull;
  }
  if (first == 0) {
    for (u64 i = words * 4; i < bytes; ++i) sum += (data[i] + 1) * (i + 0x94d049bb133111ebull);
  }
#pragma unroll
  for (int lane = 16; lane > 0; lane /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, lane);
  if (threadIdx.x % 32 == 0) atomicAdd(&findings[0], sum);
}

/// findings[0] += clock cycles that the reads of each CTA take, one load behind the other: loads
/// that miss the L2 cache take 2 to 3 times as long. The memory holds zeros.
extern "C" __global__ void read_slowly(const uint4* memory, u64 bytes, u64* findings) {
  const u64 step = static_cast<u64>(gridDim.x) * blockDim.x;
  const long long begin = clock64();
  for (u64 i = static_cast<u64>(blockIdx.x) * blockDim.x + threadIdx.x; i < bytes / 16;) {
    uint4 word;
    asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(word.x), "=r"(word.y), "=r"(word.z), "=r"(word.w)
                 : "l"(memory + i));
    i += step + (word.x | word.y | word.z | word.w);
  }
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd(&findings[0], static_cast<u64>(clock64() - begin));
}

/// Exchanges two stretches of memory that do not overlap.
__device__ void exchange(u8* a, u8* b, u64 bytes) {
  const u64 words = bytes / 4;
  const u64 step = static_cast<u64>(gridDim.x) * blockDim.x;
  const u64 first = static_cast<u64>(blockIdx.x) * blockDim.x + threadIdx.x;
  unsigned* a_words = reinterpret_cast<unsigned*>(a);
  unsigned* b_words = reinterpret_cast<unsigned*>(b);
  for (u64 i = first; i < words; i += step) {
    const unsigned word = a_words[i];
    a_words[i] = b_words[i];
    b_words[i] = word;
  }
  if (first != 0) return;
  for (u64 i = words * 4; i < bytes; ++i) {
    const u8 byte = a[i];
    a[i] = b[i];
    b[i] = byte;
  }
}

extern "C" __global__ void swap_memory(u8* a, u8* b, u64 bytes) { exchange(a, b, bytes); }

struct Stretch {
  u8 *a, *b;
  u64 bytes;
};
struct Stretches {
  Stretch at[6];
};

/// Lets the kernel behind it on the stream begin, and only `nanoseconds` later exchanges the pairs
/// of inputs and fills the output: a kernel that does not wait for its end reads and writes too
/// early.
extern "C" __global__ void exchange_late(Stretches inputs, u8* out, u64 out_bytes, unsigned pattern,
                                         u64 nanoseconds) {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
  u64 begin, now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin)::"memory");
  do {
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now)::"memory");
  } while (now - begin < nanoseconds);
#pragma unroll
  for (int i = 0; i < 6; ++i) exchange(inputs.at[i].a, inputs.at[i].b, inputs.at[i].bytes);
  const u64 step = static_cast<u64>(gridDim.x) * blockDim.x;
  for (u64 i = static_cast<u64>(blockIdx.x) * blockDim.x + threadIdx.x; i < out_bytes; i += step) {
    out[i] = static_cast<u8>(pattern);
  }
}

/// Up to three dimensions of rows, elements.
struct Rows {
  i64 sizes[3], strides[3];
};
/// A bit a column, of column c that of c % 256.
struct Signs {
  u64 negative[4];
};

/// Of elements of `width` bytes: all but the bits of `keep` become `set`; then those of negative
/// columns change their sign. A warp a row.
extern "C" __global__ void alter_rows(u8* data, Rows rows, u64 columns, unsigned width, Signs signs,
                                      unsigned keep, unsigned set) {
  const i64 count = rows.sizes[0] * rows.sizes[1] * rows.sizes[2];
  const i64 step = static_cast<i64>(gridDim.x) * (blockDim.x / 32);
  for (i64 row = static_cast<i64>(blockIdx.x) * (blockDim.x / 32) + threadIdx.x / 32; row < count;
       row += step) {
    const i64 outer = row / rows.sizes[2];
    const i64 first = outer / rows.sizes[1] * rows.strides[0] +
                      outer % rows.sizes[1] * rows.strides[1] +
                      row % rows.sizes[2] * rows.strides[2];
    for (u64 column = threadIdx.x % 32; column < columns; column += 32) {
      const unsigned negative = signs.negative[column / 64 % 4] >> (column % 64) & 1;
      const unsigned turned = negative << (8 * width - 1);
      u8* const at = data + (first + static_cast<i64>(column)) * width;
      if (width == 1) *at = static_cast<u8>(((*at & keep) | set) ^ turned);
      unsigned short* const at2 = reinterpret_cast<unsigned short*>(at);
      if (width == 2) *at2 = static_cast<unsigned short>(((*at2 & keep) | set) ^ turned);
      unsigned* const at4 = reinterpret_cast<unsigned*>(at);
      if (width == 4) *at4 = ((*at4 & keep) | set) ^ turned;
    }
  }
}

/// Ends after so many nanoseconds: what is queued behind it meanwhile begins without a gap.
extern "C" __global__ void hold(u64 nanoseconds) {
  u64 begin, now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin)::"memory");
  do {
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now)::"memory");
  } while (now - begin < nanoseconds);
}
