// error_region.cpp: Lists the fields of an error region.
#include "model/results/error_region.hpp"

#include "core/fields.hpp"

namespace fatune {

void fields(ErrorRegion& x, FieldList& f) {
  f.record("error_region", "How wrong a part of an output is");
  f("where", x.where).required();
  f("elements", x.elements).required();
  f("wrong", x.wrong).required().about("Beyond the limit of a single element, or not finite");
  f("not_finite", x.not_finite).omitted();
  f("largest", x.largest).about("Distance from what is right, among finite elements");
  f("limit", x.limit).omitted().about("Of that distance");
}

}  // namespace fatune
