// fields_fwd.hpp - what a header needs in order to declare the fields of its records.
#pragma once

namespace fatune {

class FieldList;
template <typename T>
struct FieldWord;

}  // namespace fatune
