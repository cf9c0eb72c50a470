// error_region.hpp: Describes how far a part of an output is off.
#pragma once

#include <cstdint>
#include <string>

#include "core/fields_fwd.hpp"

namespace fatune {

/// A part of an output with its own error statistics.
struct ErrorRegion {
  std::string where;            ///< "rows 448 to 511", "columns 0 to 31", "batch 0, head 3"
  std::int64_t elements = 0;    ///< elements of the region
  std::int64_t wrong = 0;       ///< beyond the limit of a single element, or not finite
  std::int64_t not_finite = 0;  ///< NaN or infinity
  double largest = 0;           ///< largest |out - ref| among finite elements
  double limit = 0;             ///< limit of a single element; 0: single elements are not judged

  friend bool operator==(const ErrorRegion&, const ErrorRegion&) = default;
};
void fields(ErrorRegion& x, FieldList& f);

}  // namespace fatune
