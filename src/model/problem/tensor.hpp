// tensor.hpp - the tensors of a problem, with fills and tolerance: what a device worker needs of an
// operation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/fields_fwd.hpp"
#include "model/problem/dtype.hpp"
#include "model/problem/problem.hpp"

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

/// Elements are counted as if it were contiguous, the last dimension fastest, wherever its rows
/// lie.
struct TensorPlan {
  std::string name;
  std::optional<Dtype> type;  ///< none: fp32
  std::vector<std::int64_t> shape;
  bool output = false;
  Fill fill;  ///< of a declared input
  /// How messages call the dimensions ("batch", "head", "row", "column") and the elements
  /// ("outputs"); empty for a declared tensor, whose places read "y[17, 5]". Attention's alone, so
  /// they do not travel.
  std::vector<std::string> axes = {};
  std::string noun = {};
  /// Elements from one to the next of each dimension, the last of them 1; empty: contiguous.
  std::vector<std::int64_t> strides = {};
  /// Of its first element, in a buffer that it shares with others of that name; empty: its own.
  std::string buffer = {};
  std::int64_t first = 0;

  std::int64_t elements() const;
  /// Elements from its first to its last one in memory.
  std::int64_t span() const;
  /// Where row `row` of rows() begins in memory, from the tensor's first element.
  std::int64_t row_offset(std::int64_t row) const;
  std::int64_t columns() const { return shape.back(); }
  std::int64_t rows() const { return elements() / columns(); }
  /// Rows of a head; all rows where there are no heads.
  std::int64_t part_rows() const { return axes.empty() ? rows() : shape[shape.size() - 2]; }
  std::size_t width() const;  ///< bytes of an element
  std::size_t bytes() const { return static_cast<std::size_t>(elements()) * width(); }
  friend bool operator==(const TensorPlan&, const TensorPlan&) = default;
};
void fields(TensorPlan& x, FieldList& f);
/// Memory of one or more tensors.
struct BufferPlan {
  std::string name;                  ///< of its tensor, or of what several are parts of
  std::vector<std::size_t> tensors;  ///< their places in the list
  std::size_t bytes = 0;
  bool gaps = false;  ///< bytes of no tensor lie between the rows
};
/// Of a list of tensors, in the order of their first ones.
std::vector<BufferPlan> buffers_of(const std::vector<TensorPlan>& tensors);
/// Where an element stands: "y[17, 5]", "batch 0, head 3, row 17, column 5".
std::string describe_place(const TensorPlan& tensor, std::int64_t element);
/// "batch 0, head 3": of a tensor with axes.
std::string describe_head(const TensorPlan& tensor, std::int64_t head);
/// "elements of y", "outputs": behind a number.
std::string describe_elements(const TensorPlan& tensor);

/// |out - ref| <= absolute + relative * |ref|, everywhere.
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

  std::vector<TensorPlan> inputs() const;
  std::vector<TensorPlan> outputs() const;
  friend bool operator==(const OperationPlan&, const OperationPlan&) = default;
};
void fields(OperationPlan& x, FieldList& f);

/// q, k, v, the factors of fp8, out, and lse if the problem wants it.
OperationPlan attention_plan(const Problem& problem);
/// What was declared, or attention's.
OperationPlan plan_of(const Problem& problem, const std::optional<OperationPlan>& declared);

}  // namespace fatune
