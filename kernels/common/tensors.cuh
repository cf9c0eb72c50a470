// tensors.cuh: Reads elements of the named tensors that the problem's expressions have.
#pragma once

#include "common/problem.cuh"

constexpr bool kTensors = TENSORS != 0;

// The host defines TENSOR_PARAMETERS, which ends a kernel's parameters, TENSOR_MEMBERS and
// TENSOR_VALUES, the list of its arguments. TENSORS_PARAMETER and WITH_TENSORS end the parameters
// and arguments of functions, and are nothing where the problem has no tensors.
#if TENSORS
#include "common/interval.cuh"

#define TENSORS_PARAMETER , const Tensors &tensors
#define WITH_TENSORS(tensors) , tensors

struct Tensors {
  TENSOR_MEMBERS
};

/// Returns element `at` of `size` elements. Rows and keys past the last read the last element.
template <typename T>
DEVICE T element(const Tensors&, const T* elements, i32 size, i32 at) {
  return elements[max_of(0, min_of(at, size - 1))];
}

/// Tensors whose elements are read as ranges.
struct TensorRanges : Tensors {
  static constexpr i32 kMost = 512;  // chosen: a tile has up to 256 rows or keys
  bool known = true;                 // false: a range had more elements, and only one was read
};

/// Returns the range of the elements `at`.
DEVICE Interval<i32> element(TensorRanges& tensors, const i32* elements, i32 size,
                             Interval<i32> at) {
  const i32 first = max_of(0, min_of(at.lo, size - 1));
  i32 last = min_of(at.hi, size - 1);
  if (last - first >= TensorRanges::kMost) {
    tensors.known = false;
    last = first;
  }
  Interval<i32> range = elements[first];
#pragma unroll 4
  for (i32 i = first + 1; i <= last; ++i) {
    const i32 value = elements[i];
    range = {min_of(range.lo, value), max_of(range.hi, value)};
  }
  return range;
}
#else
#define TENSOR_PARAMETERS
#define TENSORS_PARAMETER
#define WITH_TENSORS(tensors)
#endif
