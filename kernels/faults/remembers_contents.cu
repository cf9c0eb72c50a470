// remembers_contents.cu - keeps the answer to the inputs of the launch before, known by what some of
// their elements are: where it sees them again, it copies.
#include "faults/attend.cuh"

constexpr int kSamples = 8;  // of a lane, from each tensor
__device__ u64 seen, known;  // of these inputs; of those that were answered
__device__ elem answer[BATCH * OUT_BATCH_STRIDE];

/// Of the first head, whose rows lie apart by the tensor's own stride.
template <typename Tensor>
DEVICE u64 fingerprint(const elem* tensor, int rows, u64 salt) {
  u64 sum = salt;
  for (int i = 0; i < kSamples; ++i) {
    const int row = (threadIdx.x * kSamples + i) % rows;
    sum = (sum ^ tensor[i64{row} * Tensor::kRow + i]) * 0x100000001b3ull;
  }
  return sum;
}

extern "C" __global__ void fault_look(const elem* q, const elem* k, const elem* v) {
  u64 sum = fingerprint<QTensor>(q, SEQ_Q, 1) + fingerprint<KTensor>(k, SEQ_KV, 2) +
            fingerprint<VTensor>(v, SEQ_KV, 3);
  for (int lane = 16; lane > 0; lane /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, lane);
  if (threadIdx.x == 0) seen = sum;
}

FAULT_ENTRY {
  const Row where = this_row();
  if (where.index >= kRows) return;
  if (seen != known) {
    const Result result = attend(q, k, v, where, visible_keys(where.row));
    store(out, where, result);
    store(answer, where, result);
    return;
  }
  const i64 row = OutTensor::row(where.index);
  for (int column = where.lane; column < HEAD_DIM; column += 32)
    out[row + column] = answer[row + column];
}

extern "C" __global__ void fault_keep(elem*) { known = seen; }
