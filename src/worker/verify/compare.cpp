// compare.cpp: Passes once over an output beside its reference, block by block.
#include "worker/verify/compare.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "model/problem/rule_keys.hpp"
#include "worker/verify/inputs.hpp"
#include "worker/verify/pieces.hpp"

namespace fatune {
namespace {

/// The norm of an error over the norm of the reference. A reference of zeros allows no error.
double relative(double error_squares, double reference_squares) {
  if (error_squares == 0) return 0;
  if (reference_squares == 0) return std::numeric_limits<double>::infinity();
  return std::sqrt(error_squares / reference_squares);
}

/// Sums and extremes of one piece. Places are elements of the tensor.
struct PieceErrors {
  double squares = 0, absolute = 0, largest = 0, unexplained = 0, excess = 0;
  std::int64_t worst = 0, unexplained_at = 0, excess_at = 0, first_not_finite = 0, not_finite = 0;
  std::int64_t first_finite = 0, finite = 0;  // in places where there must be no number
  bool allclose = true;
};

template <typename Element>
auto value_of(std::span<const float> table, Element element) {
  if constexpr (std::is_floating_point_v<Element>) {
    return element;
  } else {
    return table[element];
  }
}

template <typename Element>
auto right_value(const TensorReference& reference, std::int64_t at) {
  const auto i = static_cast<std::size_t>(at);
  if constexpr (std::is_same_v<Element, double>) {
    return reference.doubles[i];
  } else {
    return reference.values[i];
  }
}

/// fp32 is exact enough for errors of 8- and 16-bit elements; fp32 and f64 elements need double.
template <typename Element>
PieceErrors scan(const TensorReference& reference, std::span<const float> table,
                 std::span<const std::byte> out, const Piece& piece) {
  using Error = std::conditional_t<std::is_floating_point_v<Element>, double, float>;
  const Element* elements = reinterpret_cast<const Element*>(out.data());
  constexpr auto kClose = static_cast<Error>(1e-3);
  PieceErrors errors;
  Error largest = 0, unexplained = 0;
  const bool bounded = !reference.rounding.empty();
  for (std::int64_t at = piece.first; at < piece.first + piece.count; ++at) {
    const Error right = right_value<Element>(reference, at);
    const Error error = std::abs(static_cast<Error>(value_of(table, elements[at])) - right);
    if (!(error <= std::numeric_limits<Error>::max())) {
      if (errors.not_finite++ == 0) errors.first_not_finite = at;
      continue;
    }
    if (error > largest) {
      largest = error;
      errors.worst = at;
    }
    if (bounded && error > unexplained && !explained(reference, at, error)) {
      unexplained = error;
      errors.unexplained_at = at;
    }
    if (reference.tolerance) {
      const double excess = ratio(error, allowed(*reference.tolerance, right));
      if (excess > errors.excess) {
        errors.excess = excess;
        errors.excess_at = at;
      }
    }
    errors.absolute += error;
    errors.squares += static_cast<double>(error) * error;
    if (error > kClose + kClose * std::abs(right)) errors.allclose = false;
  }
  errors.largest = largest;
  errors.unexplained = bounded ? unexplained : largest;
  if (!bounded) errors.unexplained_at = errors.worst;
  return errors;
}

/// Judges a head in which an input is not finite: only whether outputs that depend on it are
/// numbers.
PieceErrors scan_lost(const TensorReference& reference, std::span<const std::byte> out,
                      std::int64_t head, const Piece& piece) {
  const std::span<const float> table = decode_table(*reference.tensor.type);
  const auto* elements = reinterpret_cast<const std::uint16_t*>(out.data());
  const std::int64_t columns = reference.tensor.columns();
  PieceErrors errors;
  for (std::int64_t at = piece.first; at < piece.first + piece.count; ++at) {
    const std::int64_t row = at / columns % reference.tensor.part_rows();
    if (!std::isfinite(table[elements[at]])) continue;
    if (!reference.lost->must_be_lost(head, row, at % columns)) continue;
    if (errors.finite++ == 0) errors.first_finite = at;
  }
  return errors;
}

std::vector<PieceErrors> scan_all(const TensorReference& reference,
                                  const std::vector<Piece>& pieces,
                                  std::span<const std::byte> out) {
  const std::optional<Dtype>& type = reference.tensor.type;
  const std::span<const float> table = type ? decode_table(*type) : std::span<const float>();
  const auto scan_piece = reference.tensor.is(PlainType::kF64) ? scan<double>
                          : !type                              ? scan<float>
                          : size_of(*type) == 1                ? scan<std::uint8_t>
                                                               : scan<std::uint16_t>;
  return of_pieces<PieceErrors>(pieces, [&](const Piece& piece) {
    const std::int64_t head =
        static_cast<std::int64_t>(piece.block) / blocks_per_head(reference.tensor);
    return reference.lost && reference.lost->has(head) ? scan_lost(reference, out, head, piece)
                                                       : scan_piece(reference, table, out, piece);
  });
}

/// Adds a piece's extremes to those of the pieces before it.
void merge(const PieceErrors& piece, Comparison& all) {
  all.allclose_1e3 = all.allclose_1e3 && piece.allclose && piece.not_finite == 0;
  if (piece.not_finite > 0 && all.not_finite == 0) all.first_not_finite = piece.first_not_finite;
  all.not_finite += piece.not_finite;
  if (piece.finite > 0 && all.wrongly_finite == 0) all.first_wrongly_finite = piece.first_finite;
  all.wrongly_finite += piece.finite;
  if (piece.largest > all.max_abs) {
    all.max_abs = piece.largest;
    all.worst = piece.worst;
  }
  if (piece.unexplained > all.unexplained) {
    all.unexplained = piece.unexplained;
    all.unexplained_at = piece.unexplained_at;
  }
  if (piece.excess > all.worst_excess) {
    all.worst_excess = piece.excess;
    all.worst_excess_at = piece.excess_at;
  }
}

/// The relative 2-norm of the output's error against the values of unquantized inputs.
double method_error(const TensorReference& reference, const std::vector<Piece>& pieces,
                    std::span<const std::byte> out) {
  const std::span<const float> table = decode_table(*reference.tensor.type);
  const auto* elements = reinterpret_cast<const std::uint16_t*>(out.data());
  using Squares = std::pair<double, double>;
  const auto squares_of = [&](const Piece& piece) {
    Squares squares;
    for (std::int64_t i = piece.first; i < piece.first + piece.count; ++i) {
      const double right = reference.unquantized[static_cast<std::size_t>(i)];
      const double error = table[elements[i]] - right;
      squares.first += error * error;
      squares.second += right * right;
    }
    return squares;
  };
  double errors = 0, values = 0;
  for (const auto& [of_errors, of_values] : of_pieces<Squares>(pieces, squares_of)) {
    errors += of_errors;
    values += of_values;
  }
  return relative(errors, values);
}

/// Sums up one piece of the reference.
struct PieceNorms {
  double squares = 0, absolute = 0, extreme = 0;
};

template <typename Value>
PieceNorms norms_of(const std::vector<Value>& values, const Piece& piece) {
  PieceNorms norms;
  for (std::int64_t i = piece.first; i < piece.first + piece.count; ++i) {
    const double value = values[static_cast<std::size_t>(i)];
    norms.squares += value * value;
    norms.absolute += std::abs(value);
    if (std::abs(value) > std::abs(norms.extreme)) norms.extreme = value;
  }
  return norms;
}

void add_masked_rows(const TensorReference& reference, std::span<const std::byte> out,
                     Comparison& result) {
  const TensorPlan& tensor = reference.tensor;
  if (reference.seeing.empty()) return;
  const auto table = decode_table(*tensor.type);
  for (std::int64_t head = 0; head < tensor.rows() / tensor.part_rows(); ++head) {
    const std::int64_t first = head * tensor.part_rows(), columns = tensor.columns();
    if (reference.lost && reference.lost->has(head)) continue;
    for (std::int64_t i = first * columns; i < (first + tensor.part_rows()) * columns; ++i) {
      if (reference.seeing[static_cast<std::size_t>(i / columns)]) continue;
      std::uint16_t element = 0;
      std::memcpy(&element, out.data() + static_cast<std::size_t>(i) * tensor.width(),
                  tensor.width());
      if (table[element] == 0) continue;
      if (result.masked_not_zero++ == 0) result.first_masked_not_zero = i;
    }
  }
}

/// Sets the norms of the reference's values.
template <typename Value>
void set_norms(const std::vector<Value>& values, TensorReference& reference) {
  FATUNE_CHECK(static_cast<std::int64_t>(values.size()) == reference.tensor.elements(),
               "one value for each element");
  const std::vector<Piece> pieces = pieces_of(reference.tensor);
  const auto norms =
      of_pieces<PieceNorms>(pieces, [&](const Piece& piece) { return norms_of(values, piece); });
  reference.block_squares.resize(pieces.back().block + 1);
  double sum = 0;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    reference.block_squares[pieces[i].block] += norms[i].squares;
    sum += norms[i].absolute;
    if (std::abs(norms[i].extreme) > std::abs(reference.extreme))
      reference.extreme = norms[i].extreme;
  }
  reference.largest = std::abs(reference.extreme);
  reference.mean = sum / static_cast<double>(values.size());
}

/// Returns an integer or bool in decimal, for messages.
std::string element_text(const TensorPlan& tensor, const std::byte* from) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, from, tensor.width());
  const PlainFacts& type = plain_facts(tensor.plain);
  const unsigned above = 64 - 8 * static_cast<unsigned>(type.bytes);
  if (type.least == 0) return fmt::format("{}", bits);
  return fmt::format("{}", static_cast<std::int64_t>(bits << above) >> above);
}

Comparison compare_exactly(const TensorReference& reference, std::span<const std::byte> out) {
  const TensorPlan& tensor = reference.tensor;
  const std::size_t width = tensor.width();
  Comparison result;
  if (std::memcmp(out.data(), reference.exact.data(), out.size()) == 0) return result;
  result.allclose_1e3 = false;
  for (std::int64_t i = 0; i < tensor.elements(); ++i) {
    const std::byte* const found = out.data() + static_cast<std::size_t>(i) * width;
    const std::byte* const wanted = reference.exact.data() + static_cast<std::size_t>(i) * width;
    if (std::memcmp(found, wanted, width) == 0 || result.unequal++ != 0) continue;
    result.first_unequal = fmt::format("{} is {}, not {}", describe_place(tensor, i),
                                       element_text(tensor, found), element_text(tensor, wanted));
  }
  return result;
}

}  // namespace

double ratio(double value, double limit) {
  if (value == 0) return 0;
  if (!(limit > 0) || !std::isfinite(value)) return kWorstMargin;
  return std::min(value / limit, kWorstMargin);
}

double allowed(const DeclaredTolerance& tolerance, double reference) {
  return tolerance.absolute + tolerance.relative * std::abs(reference);
}

bool explained(const TensorReference& reference, std::int64_t at, double error) {
  return !reference.rounding.empty() && error <= reference.rounding[static_cast<std::size_t>(at)];
}

std::int64_t blocks_per_head(const TensorPlan& tensor) {
  return (tensor.part_rows() + kBlockRows - 1) / kBlockRows;
}

TensorReference make_reference(const TensorPlan& tensor, std::vector<float> values) {
  TensorReference reference;
  reference.tensor = tensor;
  reference.values = std::move(values);
  set_norms(reference.values, reference);
  return reference;
}

TensorReference make_declared_reference(const TensorPlan& tensor, std::vector<std::byte> bytes) {
  TensorReference reference;
  reference.tensor = tensor;
  if (tensor.whole()) {
    reference.exact = std::move(bytes);
  } else if (tensor.is(PlainType::kF64)) {
    reference.doubles.resize(bytes.size() / sizeof(double));
    std::memcpy(reference.doubles.data(), bytes.data(), bytes.size());
    set_norms(reference.doubles, reference);
  } else {
    return make_reference(tensor, floats_of(bytes));
  }
  return reference;
}

TensorReference make_out_reference(const Attention& problem, std::vector<float> values) {
  TensorReference reference =
      make_reference(attention_plan(problem).outputs().front(), std::move(values));
  reference.seeing = VisibleKeys(problem).seeing();
  return reference;
}

Status check_written(const TensorReference& reference) {
  if (!reference.exact.empty()) return {};
  const auto first_unwritten = [&](const Piece& piece) {
    std::int64_t at = piece.first;
    const std::int64_t end = at + piece.count;
    while (at < end && std::isfinite(reference.value(at))) ++at;
    return at < end ? at : reference.tensor.elements();
  };
  const auto found = of_pieces<std::int64_t>(pieces_of(reference.tensor), first_unwritten);
  const std::int64_t at = *std::ranges::min_element(found);
  if (at == reference.tensor.elements()) return {};
  return device_error(fmt::format("the reference leaves {} unwritten, or it is not finite there",
                                  describe_place(reference.tensor, at)));
}

Comparison compare(const TensorReference& reference, std::span<const std::byte> out) {
  FATUNE_CHECK(out.size() == reference.tensor.bytes(), "an output as large as the reference");
  if (!reference.exact.empty()) return compare_exactly(reference, out);
  const std::vector<Piece> pieces = pieces_of(reference.tensor);
  const std::vector<PieceErrors> errors = scan_all(reference, pieces, out);
  Comparison result;
  std::vector<double> block_squares(reference.block_squares.size());
  double squares = 0, reference_squares = 0, absolute = 0, head_squares = 0, head_reference = 0;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    merge(errors[i], result);
    absolute += errors[i].absolute;
    block_squares[pieces[i].block] += errors[i].squares;
  }
  const std::int64_t in_head = blocks_per_head(reference.tensor);
  for (std::int64_t block = 0; block < static_cast<std::int64_t>(block_squares.size()); ++block) {
    const double found = block_squares[static_cast<std::size_t>(block)];
    const double wanted = reference.block_squares[static_cast<std::size_t>(block)];
    if (block % in_head == 0) head_squares = head_reference = 0;
    squares += found;
    head_squares += found;
    reference_squares += wanted;
    head_reference += wanted;
    if (const double l2 = relative(found, wanted); l2 > result.worst_block_l2) {
      result.worst_block_l2 = l2;
      result.worst_block = block;
    }
    if (block % in_head + 1 < in_head) continue;
    if (const double l2 = relative(head_squares, head_reference); l2 > result.worst_head_l2) {
      result.worst_head_l2 = l2;
      result.worst_head = block / in_head;
    }
  }
  result.mean_abs = absolute / static_cast<double>(reference.tensor.elements());
  result.relative_l2 = relative(squares, reference_squares);
  if (!reference.unquantized.empty()) result.method_l2 = method_error(reference, pieces, out);
  add_masked_rows(reference, out, result);
  return result;
}

}  // namespace fatune
