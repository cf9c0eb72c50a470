// not_finite.hpp - inputs of which one element of q, of k and of v is no number, and the outputs
// that must not be numbers then.
#pragma once

#include <array>
#include <cstdint>

#include "model/problem/input_case.hpp"
#include "model/problem/problem.hpp"
#include "worker/verify/inputs.hpp"

namespace fatune {

/// An element of q, k or v: its key head, counted over the batch; its row, of q over all query
/// heads that read the key head; its column.
struct Spoilt {
  std::int64_t part = 0, row = 0, column = 0;
};
/// In q an infinity, in k NaN, in v an infinity; in three key heads, if there are as many.
std::array<Spoilt, 3> spoilt_elements(const Problem& problem);

/// Puts them in.
void spoil(const Problem& problem, HostInputs& inputs);

/// The same case with numbers alone.
InputCase before_spoiling(InputCase which);

/// What becomes of the outputs of key heads with such an element. One that depends on it must be
/// NaN or infinite. The others may: a factor is of the whole head.
class LostOutputs {
 public:
  explicit LostOutputs(const Problem& problem);
  /// Of a query head, counted over the batch: whether its outputs may be other than numbers.
  bool has(std::int64_t head) const;
  bool must_be_lost(std::int64_t head, std::int64_t row, std::int64_t column) const;

 private:
  std::array<Spoilt, 3> elements_;
  std::int64_t group_, rows_, unseen_rows_;
};

}  // namespace fatune
