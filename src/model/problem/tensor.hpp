// tensor.hpp: Describes the tensors, fills and tolerance of an operation at one problem's sizes. A
// device worker needs nothing else of an operation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/fields_fwd.hpp"
#include "model/problem/dtype.hpp"
#include "model/problem/plain_type.hpp"
#include "model/problem/problem.hpp"

namespace fatune {

/// Fill of an input: offset + scale * draw, or a file's elements.
struct Fill {
  /// N(0,1); U[-1,1]; the offset alone; whole numbers from offset to offset + scale; `file`.
  enum class Kind { kNormal, kUniform, kConstant, kWhole, kFile };
  Kind kind = Kind::kNormal;
  double scale = 1;
  double offset = 0;
  std::string file = {};
  friend bool operator==(const Fill&, const Fill&) = default;
};
std::string_view name(Fill::Kind kind);
FieldWord<Fill::Kind> word_of(const Fill::Kind*);
void fields(Fill& x, FieldList& f);

/// Element indices count the tensor as contiguous, last dimension fastest, in every layout.
struct TensorPlan {
  std::string name;
  std::optional<Dtype> type;  ///< none: the type is `plain`
  std::vector<std::int64_t> shape;
  bool output = false;
  Fill fill = {};  ///< for declared inputs, and outputs that are `filled`
  /// Words of messages for the dimensions ("batch", "head", "row", "column") and the elements
  /// ("outputs"). Empty for a declared tensor, whose elements read "y[17, 5]". Set for attention
  /// only; not serialized.
  std::vector<std::string> axes = {};
  std::string noun = {};
  /// Strides in elements; the last is 1. Empty: contiguous.
  std::vector<std::int64_t> strides = {};
  /// Offset of the first element in `buffer`, which several tensors may share; empty: own buffer.
  std::string buffer = {};
  std::int64_t first = 0;
  PlainType plain = PlainType::kF32;  ///< used if `type` is none
  bool filled = false;                ///< an output that holds the fill before each launch

  /// "f16", "f32", "i32".
  std::string_view type_word() const;
  bool is(PlainType wanted) const { return !type && plain == wanted; }
  /// The elements are integers or bool.
  bool whole() const { return !type && plain_facts(plain).whole; }
  std::int64_t elements() const;
  /// Number of elements from the first to the last in memory, gaps included.
  std::int64_t span() const;
  /// Offset of row `row` of rows(), from the tensor's first element.
  std::int64_t row_offset(std::int64_t row) const;
  std::int64_t columns() const { return shape.back(); }
  std::int64_t rows() const { return elements() / columns(); }
  /// Number of rows of a head; all rows if the tensor has no heads.
  std::int64_t part_rows() const { return axes.empty() ? rows() : shape[shape.size() - 2]; }
  std::size_t width() const;  ///< bytes of an element
  std::size_t bytes() const { return static_cast<std::size_t>(elements()) * width(); }
  friend bool operator==(const TensorPlan&, const TensorPlan&) = default;
};
void fields(TensorPlan& x, FieldList& f);
/// A block of device memory with one or more tensors.
struct BufferPlan {
  std::string name;                  ///< name of the tensor, or of the shared buffer
  std::vector<std::size_t> tensors;  ///< indices into the tensor list
  std::size_t bytes = 0;
  bool gaps = false;  ///< bytes of no tensor lie between the rows
};
/// Returns the buffers of a list of tensors, in the order of their first tensors.
std::vector<BufferPlan> buffers_of(const std::vector<TensorPlan>& tensors);
/// Names an element: "y[17, 5]", "batch 0, head 3, row 17, column 5".
std::string describe_place(const TensorPlan& tensor, std::int64_t element);
/// Names a head of a tensor with axes: "batch 0, head 3".
std::string describe_head(const TensorPlan& tensor, std::int64_t head);
/// Names elements after a number: "elements of y", "outputs".
std::string describe_elements(const TensorPlan& tensor);

/// Requires |out - ref| <= absolute + relative * |ref| for every element.
struct DeclaredTolerance {
  double absolute = 0, relative = 0;
  std::string why;
  friend bool operator==(const DeclaredTolerance&, const DeclaredTolerance&) = default;
};
void fields(DeclaredTolerance& x, FieldList& f);

/// An operation at the sizes of one problem.
struct OperationPlan {
  std::vector<TensorPlan> tensors;             ///< in the declaration's order
  std::optional<DeclaredTolerance> tolerance;  ///< none: limits from the low-precision reference

  std::vector<TensorPlan> inputs() const;  ///< and filled outputs, in the declaration's order
  std::vector<TensorPlan> outputs() const;
  bool fills_outputs() const;
  bool all_from_files() const;  ///< every set of inputs has the same elements
  /// Tells whether a low-precision reference sets limits: no tolerance is declared, and an output
  /// is of floating point.
  bool has_low_precision() const;
  friend bool operator==(const OperationPlan&, const OperationPlan&) = default;
};
void fields(OperationPlan& x, FieldList& f);

/// Tensors of attention: q, k, v, the factors of fp8, out, and lse if the problem wants it.
OperationPlan attention_plan(const Attention& problem);
/// Returns the optional tensors that the problem has, in the order of kOptionalTensors.
std::vector<TensorPlan> optional_tensors(const Attention& problem);
/// Returns the declared tolerance, or attention's.
OperationPlan plan_of(const Problem& problem, const std::optional<OperationPlan>& declared);

}  // namespace fatune
