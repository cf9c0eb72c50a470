// fields_fwd.hpp: Declares the types that headers need to declare the fields of their records.
#pragma once

namespace fatune {

class FieldList;
template <typename T>
struct FieldWord;

}  // namespace fatune
