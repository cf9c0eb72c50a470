// modifiers.cuh: Holds the tensors that change scores or hide keys, each where the problem has it.
#pragma once

#include "common/bias.cuh"
#include "common/lengths.cuh"
#include "common/tensors.cuh"

// Each of a tensor's macros is nothing where the problem has no such tensor. X_PARAMETER ends a
// parameter list, and X_MEMBER is a value in the list of a Modifiers.
#if BIAS
#define BIAS_MEMBER bias,
#else
#define BIAS_MEMBER
#endif
#if LENGTHS
#define LENGTHS_MEMBER lengths,
#else
#define LENGTHS_MEMBER
#endif
#if ALIBI
#define ALIBI_PARAMETER , const float *__restrict__ alibi
#define ALIBI_MEMBER alibi,
#else
#define ALIBI_PARAMETER
#define ALIBI_MEMBER
#endif
#if SINK
#define SINK_PARAMETER , const elem *__restrict__ sink
#define SINK_MEMBER sink,
#else
#define SINK_PARAMETER
#define SINK_MEMBER
#endif
#if TENSORS
#define TENSORS_MEMBER {TENSOR_VALUES},
#else
#define TENSORS_MEMBER
#endif

/// In the order in which manifests name their tensors.
#define MODIFIER_PARAMETERS \
  BIAS_PARAMETER LENGTHS_PARAMETER ALIBI_PARAMETER SINK_PARAMETER TENSOR_PARAMETERS
#define MODIFIERS BIAS_MEMBER LENGTHS_MEMBER ALIBI_MEMBER SINK_MEMBER TENSORS_MEMBER
/// Whether the problem has one of them.
#define MODIFIED (BIAS || LENGTHS || ALIBI || SINK || TENSORS)
constexpr bool kAlibi = ALIBI != 0;

struct Modifiers {
#if BIAS
  const bias_elem* bias;
#endif
#if LENGTHS
  const i32* lengths;
#endif
#if ALIBI
  const float* alibi;  // a slope for each head

  /// A score without scale falls by this from key to key; `head` is counted over the batch.
  DEVICE float slope(int head) const { return alibi[head % HEADS] * (1.0f / SOFTMAX_SCALE); }
#endif
#if SINK
  const elem* sink;  // a score for each head, which has its scale

  /// A head's sink as a score without scale.
  DEVICE float sink_score(int head) const {
    return to_float(sink[head % HEADS]) * (1.0f / SOFTMAX_SCALE);
  }
#endif
#if TENSORS
  Tensors tensors;
#endif
};
