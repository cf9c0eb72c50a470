// memory.cuh: Leaves output unwritten, or touches memory that is not its own.
#pragma once

#if FAULT == FAULT_DOES_NOTHING
// It returns at once.
FAULT_ENTRY {}

#elif FAULT == FAULT_LEAVES_PART_UNWRITTEN
// It does not write the last row of each head.
FAULT_ENTRY {
  const Row where = this_row();
  if (where.index >= kRows || where.row == SEQ_Q - 1) return;
  store(out, where, attend(q, k, v, where, key_end(where.row)));
}

#elif FAULT == FAULT_LEAVES_LSE_UNWRITTEN
// It does not write the log-sum-exp of the last row of each head.
FAULT_ENTRY {
  const Row where = this_row();
  if (where.index >= kRows) return;
  const Result result = attend(q, k, v, where, key_end(where.row));
  store(out, where, result);
#if LSE
  if (where.row != SEQ_Q - 1) store_lse(lse, where, result.lse);
#endif
}

#elif FAULT == FAULT_OUT_OF_BOUNDS_WRITE_GUARD
// It also writes one element past the end of the output.
FAULT_ENTRY {
  attend_and_store(q, k, v, out);
  elem* last_row = out + OutTensor::row(kRows - 1);
  if (blockIdx.x == 0 && threadIdx.x == 0) last_row[HEAD_DIM] = from_float(1.0f);
}

#elif FAULT == FAULT_WRITES_BETWEEN_ROWS
// It also writes one element between the first two rows of the output.
FAULT_ENTRY {
  attend_and_store(q, k, v, out);
  if (blockIdx.x == 0 && threadIdx.x == 0) out[HEAD_DIM] = from_float(1.0f);
}

#elif FAULT == FAULT_WRITES_PAST_LSE
// It also writes one number past the end of the log-sum-exps.
FAULT_ENTRY {
  const Row where = this_row();
  if (where.index >= kRows) return;
  const Result result = attend(q, k, v, where, key_end(where.row));
  store(out, where, result);
#if LSE
  store_lse(lse, where, result.lse);
  if (where.index == 0 && where.lane == 0) lse[kRows] = 1.0f;
#endif
}

#elif FAULT == FAULT_CHANGES_INPUT
// It moves one key by its last bit in a second launch.
FAULT_ENTRY { attend_and_store(q, k, v, out); }

FAULT_END { k[0] = static_cast<elem>(k[0] + 1); }

#elif FAULT == FAULT_ZEROES_INPUT
// It makes the queries zero in a second launch, which would make the next result easy.
FAULT_ENTRY { attend_and_store(q, k, v, out); }

FAULT_END {
  const i64 element = static_cast<i64>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (element < kRows * HEAD_DIM) q[QTensor::row(element / HEAD_DIM) + element % HEAD_DIM] = 0;
}

#elif FAULT == FAULT_MISALIGNED
// It reads 16 bytes from an address that is no multiple of 16.
FAULT_ENTRY {
  attend_and_store(q, k, v, out);
  const elem* odd = k + 1;
  u32 x, y, z, w;
  asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(x), "=r"(y), "=r"(z), "=r"(w)
               : "l"(odd));
  if ((x & y & z & w) == 0xffffffffu) out[0] = 0;
}

#elif FAULT == FAULT_OUT_OF_BOUNDS_READ
// It reads terabytes away from its tensors: an illegal address.
FAULT_ENTRY {
  attend_and_store(q, k, v, out);
  const volatile elem* far = k + (static_cast<i64>(1) << 42);
  const elem value = far[this_row().index];
  if (value == 1) out[0] = value;
}

#elif FAULT == FAULT_READS_PAST_SHARED
// It also reads shared memory that no block can have.
constexpr int kBeyond = 64 * 1024;  // floats: more than any multiprocessor has

extern __shared__ float staged[];

FAULT_ENTRY {
  staged[threadIdx.x] = to_float(q[0]);
  __syncthreads();
  const volatile float* beyond = staged + kBeyond;
  if (beyond[threadIdx.x] == 12345.0f) return;
  attend_and_store(q, k, v, out);
}

#endif  // FAULT
