// rmsnorm.cu - y = x / sqrt(mean(x^2) + epsilon) * weight: THREADS_PER_ROW threads share a row, and
// read it in vectors once, unless KEEP says otherwise. Derivation in notes.md.
#include "common/launch.cuh"
#include "common/prelude.cuh"
#include "rmsnorm.cuh"

constexpr int kVector = VECTOR / DTYPE_BYTES;     // elements of a load
constexpr int kPitch = THREADS_PER_ROW * kVector;  // elements that a row's threads load at once
constexpr int kSteps = ceil_div(COLUMNS, kPitch);  // loads of a thread
constexpr bool kRagged = COLUMNS % kPitch != 0;    // the last step is not for all threads
constexpr int kWarps = max_of(1, THREADS_PER_ROW / 32);  // of a row
static_assert(COLUMNS % kVector == 0, "rows begin where a vector may be loaded");

union Packet {
#if VECTOR == 2
  u16 word;
#else
  u32 words[VECTOR / 4];
#endif
  elem at[kVector];
};

#if LOAD == LOAD_STREAMING
#define LOAD_OF_X "ld.global.cs"
#else
#define LOAD_OF_X "ld.global"
#endif
#if STORE == STORE_STREAMING
#define STORE_OF_Y "st.global.cs"
#else
#define STORE_OF_Y "st.global"
#endif

// Volatile, so that no load is moved in front of the grid dependency wait (LAUNCH).
#if VECTOR == 2
#define READ(OPCODE, packet, from) \
  asm volatile(OPCODE ".u16 %0, [%1];" : "=h"(packet.word) : "l"(from))
#define WRITE(OPCODE, packet, to) \
  asm volatile(OPCODE ".u16 [%0], %1;" ::"l"(to), "h"(packet.word) : "memory")
#elif VECTOR == 4
#define READ(OPCODE, packet, from) \
  asm volatile(OPCODE ".u32 %0, [%1];" : "=r"(packet.words[0]) : "l"(from))
#define WRITE(OPCODE, packet, to) \
  asm volatile(OPCODE ".u32 [%0], %1;" ::"l"(to), "r"(packet.words[0]) : "memory")
#elif VECTOR == 8
#define READ(OPCODE, packet, from)                         \
  asm volatile(OPCODE ".v2.u32 {%0, %1}, [%2];"            \
               : "=r"(packet.words[0]), "=r"(packet.words[1]) \
               : "l"(from))
#define WRITE(OPCODE, packet, to)                                                             \
  asm volatile(OPCODE ".v2.u32 [%0], {%1, %2};" ::"l"(to), "r"(packet.words[0]),              \
               "r"(packet.words[1])                                                           \
               : "memory")
#else
#define READ(OPCODE, packet, from)                                                  \
  asm volatile(OPCODE ".v4.u32 {%0, %1, %2, %3}, [%4];"                             \
               : "=r"(packet.words[0]), "=r"(packet.words[1]), "=r"(packet.words[2]), \
                 "=r"(packet.words[3])                                              \
               : "l"(from))
#define WRITE(OPCODE, packet, to)                                                \
  asm volatile(OPCODE ".v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(to),               \
               "r"(packet.words[0]), "r"(packet.words[1]), "r"(packet.words[2]), \
               "r"(packet.words[3])                                              \
               : "memory")
#endif

DEVICE Packet load_x(const elem* from) {
  Packet packet;
  READ(LOAD_OF_X, packet, from);
  return packet;
}

/// Every row needs them: they are to stay in the caches.
DEVICE Packet load_weights(const elem* from) {
  Packet packet;
  READ("ld.global", packet, from);
  return packet;
}

DEVICE float squares(const Packet& packet) {
  float sum = 0;
#pragma unroll
  for (int i = 0; i < kVector; ++i) {
    const float value = to_float(packet.at[i]);
    sum += value * value;
  }
  return sum;
}

DEVICE Packet scaled(const Packet& x, const Packet& weights, float scale) {
  Packet y;
#pragma unroll
  for (int i = 0; i < kVector; ++i)
    y.at[i] = from_float(to_float(x.at[i]) * scale * to_float(weights.at[i]));
  return y;
}

/// Over the threads of a row; every one of them gets the sum. All threads of the block call it.
DEVICE float row_sum(float sum, int row, int lane) {
  sum = warp_sum<min_of(32, THREADS_PER_ROW)>(sum);
#if THREADS_PER_ROW > 32
  __shared__ float partial[ROWS_PER_BLOCK][kWarps];
  if (lane % 32 == 0) partial[row][lane / 32] = sum;
  __syncthreads();
  sum = 0;
#pragma unroll
  for (int warp = 0; warp < kWarps; ++warp) sum += partial[row][warp];
#endif
  return sum;
}

extern "C" __global__ void __launch_bounds__(THREADS_PER_ROW* ROWS_PER_BLOCK)
    rmsnorm(const elem* x, const elem* weight, elem* y) {
  const int lane = static_cast<int>(threadIdx.x) % THREADS_PER_ROW;
  const int local = static_cast<int>(threadIdx.x) / THREADS_PER_ROW;
  const i64 row = static_cast<i64>(blockIdx.x) * ROWS_PER_BLOCK + local;
  const bool inside = row < ROWS;
  const i64 first = row * COLUMNS + lane * kVector;
  const auto mine = [&](int step) {
    if (!kRagged || step + 1 < kSteps) return inside;
    return inside && step * kPitch + lane * kVector < COLUMNS;
  };
#if KEEP == KEEP_SHARED
  extern __shared__ __align__(16) unsigned char dynamic_shared[];
  Packet* kept = reinterpret_cast<Packet*>(dynamic_shared) + threadIdx.x;  // read by its writer only
  const auto place = [](int step) { return step * (THREADS_PER_ROW * ROWS_PER_BLOCK); };
#elif KEEP == KEEP_REGISTERS
  Packet kept[kSteps];
  const auto place = [](int step) { return step; };
#endif
  Packet weights[kSteps];

  grid_dependency_wait();
  launch_dependents();
  float sum = 0;
#if KEEP == KEEP_REGISTERS
#pragma unroll
  for (int step = 0; step < kSteps; ++step)
    if (mine(step)) kept[place(step)] = load_x(x + first + step * kPitch);
#endif
#if WEIGHT == WEIGHT_EARLY
#pragma unroll
  for (int step = 0; step < kSteps; ++step)
    if (mine(step)) weights[step] = load_weights(weight + lane * kVector + step * kPitch);
#endif
#pragma unroll
  for (int step = 0; step < kSteps; ++step) {
    if (!mine(step)) continue;
#if KEEP == KEEP_REGISTERS
    sum += squares(kept[place(step)]);
#else
    const Packet packet = load_x(x + first + step * kPitch);
    sum += squares(packet);
#if KEEP == KEEP_SHARED
    kept[place(step)] = packet;
#endif
#endif
  }
#if WEIGHT == WEIGHT_LATE
#pragma unroll
  for (int step = 0; step < kSteps; ++step)
    if (mine(step)) weights[step] = load_weights(weight + lane * kVector + step * kPitch);
#endif
  const float scale = rsqrtf(row_sum(sum, local, lane) * (1.0f / COLUMNS) + kEpsilon);
#pragma unroll
  for (int step = 0; step < kSteps; ++step) {
    if (!mine(step)) continue;
#if KEEP == KEEP_RELOAD
    const Packet packet = load_x(x + first + step * kPitch);
#else
    const Packet packet = kept[place(step)];
#endif
    const Packet out = scaled(packet, weights[step], scale);
    WRITE(STORE_OF_Y, out, y + first + step * kPitch);
  }
}
