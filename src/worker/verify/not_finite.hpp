// not_finite.hpp: Makes single inputs not finite, and names the outputs that depend on them.
#pragma once

#include <array>
#include <cstdint>

#include "model/problem/input_case.hpp"
#include "model/problem/problem.hpp"
#include "model/problem/rule_keys.hpp"
#include "worker/verify/inputs.hpp"

namespace fatune {

/// The place of an element of q, k or v. The key head counts over the batch. A row of q counts over
/// all query heads that read the key head.
struct Spoilt {
  std::int64_t part = 0, row = 0, column = 0;
};
/// The elements: an infinity in q, NaN in k, an infinity in v. They are in three key heads, if
/// there are as many.
std::array<Spoilt, 3> spoilt_elements(const Attention& problem);

/// Puts the elements into the inputs.
void spoil(const Attention& problem, HostInputs& inputs);

/// Returns the input case with finite inputs only.
InputCase before_spoiling(InputCase which);

/// The outputs of key heads with such an element. An output that depends on the element must be NaN
/// or infinite. The others of the head may be, because they share its factor.
class LostOutputs {
 public:
  explicit LostOutputs(const Attention& problem);
  /// Whether outputs of a query head, counted over the batch, may be other than numbers.
  bool has(std::int64_t head) const;
  bool must_be_lost(std::int64_t head, std::int64_t row, std::int64_t column) const;

 private:
  Attention problem_;
  VisibleKeys keys_;
  std::array<Spoilt, 3> elements_;
};

}  // namespace fatune
