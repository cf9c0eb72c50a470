// tensor.hpp - the tensors of a custom operation for given sizes, with their tolerance: the part of
// a declaration that a device worker needs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/fields_fwd.hpp"
#include "model/problem/dtype.hpp"

namespace fatune {

/// What an input is filled with: offset + scale * draw.
struct Fill {
  enum class Kind { kNormal, kUniform, kConstant };  ///< N(0,1), U[-1,1], nothing is drawn
  Kind kind = Kind::kNormal;
  double scale = 1;
  double offset = 0;
  friend bool operator==(const Fill&, const Fill&) = default;
};
std::string_view name(Fill::Kind kind);
FieldWord<Fill::Kind> word_of(const Fill::Kind*);
void fields(Fill& x, FieldList& f);

/// Contiguous, the last dimension fastest.
struct TensorPlan {
  std::string name;
  std::optional<Dtype> type;  ///< none: fp32
  std::vector<std::int64_t> shape;
  bool output = false;
  Fill fill;  ///< of an input

  std::int64_t elements() const;
  std::int64_t columns() const { return shape.back(); }
  std::size_t width() const;  ///< bytes of an element
  std::size_t bytes() const { return static_cast<std::size_t>(elements()) * width(); }
  friend bool operator==(const TensorPlan&, const TensorPlan&) = default;
};
void fields(TensorPlan& x, FieldList& f);
/// "y[17, 5]": where an element stands.
std::string describe_place(const TensorPlan& tensor, std::int64_t element);

/// |out - ref| <= absolute + relative * |ref|, everywhere.
struct DeclaredTolerance {
  double absolute = 0, relative = 0;
  std::string why;
  friend bool operator==(const DeclaredTolerance&, const DeclaredTolerance&) = default;
};
void fields(DeclaredTolerance& x, FieldList& f);

struct OwnPlan {
  std::vector<TensorPlan> tensors;             ///< in the declaration's order
  std::optional<DeclaredTolerance> tolerance;  ///< none: limits from the low-precision reference

  std::vector<TensorPlan> inputs() const;
  std::vector<TensorPlan> outputs() const;
  friend bool operator==(const OwnPlan&, const OwnPlan&) = default;
};
void fields(OwnPlan& x, FieldList& f);

}  // namespace fatune
