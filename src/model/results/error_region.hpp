// error_region.hpp - how wrong a part of an output is.
#pragma once

#include <cstdint>
#include <string>

#include "core/fields_fwd.hpp"

namespace fatune {

/// A part of an output whose errors were looked at by themselves.
struct ErrorRegion {
  std::string where;            ///< "rows 448 to 511", "columns 0 to 31", "batch 0, head 3"
  std::int64_t elements = 0;    ///< of the region
  std::int64_t wrong = 0;       ///< beyond the limit of a single element, or not finite
  std::int64_t not_finite = 0;  ///< NaN or infinity
  double largest = 0;           ///< |out - ref| among the finite ones
  double limit = 0;             ///< of a single element; 0: not judged by single elements

  friend bool operator==(const ErrorRegion&, const ErrorRegion&) = default;
};
void fields(ErrorRegion& x, FieldList& f);

}  // namespace fatune
