// error_regions.cpp: Counts wrong elements by region, in one pass over an output.
#include "worker/verify/error_regions.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "model/problem/dtype.hpp"

namespace fatune {
namespace {

/// Ranges of rows and columns, without their ends.
struct Window {
  std::int64_t first_row, end_row, first_column, end_column;
  bool holds(std::int64_t row, std::int64_t column) const {
    return first_row <= row && row < end_row && first_column <= column && column < end_column;
  }
};

struct Counted {
  Window window;
  ErrorRegion region;
};

std::string span_of(const char* what, std::int64_t first, std::int64_t end) {
  if (end - first == 1) return fmt::format("{} {}", what, first);
  return fmt::format("{}s {} to {}", what, first, end - 1);
}

std::vector<Counted> windows_of(const TensorPlan& tensor) {
  const std::int64_t rows = tensor.part_rows(), columns = tensor.columns();
  std::vector<Counted> windows;
  const auto add = [&](std::string where, const Window& window) {
    windows.push_back({window, ErrorRegion{.where = std::move(where)}});
  };
  const auto add_rows = [&](std::int64_t first, std::int64_t end) {
    if (first < end && end - first < rows)
      add(span_of("row", first, end), {first, end, 0, columns});
  };
  add("all of " + tensor.name, {0, rows, 0, columns});
  const std::int64_t last = std::max<std::int64_t>(0, (rows - 1) / kBlockRows * kBlockRows);
  add_rows(0, std::min(kBlockRows, last));
  add_rows(kBlockRows, last);
  add_rows(last, rows);
  if (columns > 1) {
    add(span_of("column", 0, columns / 2), {0, rows, 0, columns / 2});
    add(span_of("column", columns / 2, columns), {0, rows, columns / 2, columns});
  }
  return windows;
}

/// Elements of any floating-point type.
class Elements {
 public:
  Elements(const TensorPlan& tensor, std::span<const std::byte> bytes)
      : width_(tensor.width()), bytes_(bytes) {
    if (tensor.type) table_ = decode_table(*tensor.type);
  }
  double at(std::int64_t index) const {
    const std::byte* from = bytes_.data() + static_cast<std::size_t>(index) * width_;
    if (width_ == sizeof(double)) {
      double value = 0;
      std::memcpy(&value, from, sizeof value);
      return value;
    }
    if (table_.empty()) {
      float value = 0;
      std::memcpy(&value, from, sizeof value);
      return value;
    }
    std::uint16_t element = 0;
    std::memcpy(&element, from, width_);
    return table_[element];
  }

 private:
  std::size_t width_;
  std::span<const std::byte> bytes_;
  std::span<const float> table_;
};

bool is_too_large(const TensorReference& reference, std::int64_t at, double error) {
  const double right = reference.value(at);
  if (reference.tolerance) return error > allowed(*reference.tolerance, right);
  return error > reference.limits.max_abs && !explained(reference, at, error);
}

void count(double error, bool too_large, ErrorRegion& region) {
  ++region.elements;
  if (!(error <= std::numeric_limits<float>::max())) {
    ++region.not_finite;
    ++region.wrong;
    return;
  }
  if (too_large) ++region.wrong;
  region.largest = std::max(region.largest, error);
}

}  // namespace

std::vector<ErrorRegion> error_regions(const TensorReference& reference,
                                       std::span<const std::byte> out) {
  if (!reference.exact.empty()) return {};
  const TensorPlan& tensor = reference.tensor;
  const Elements elements(tensor, out);
  const std::int64_t rows = tensor.part_rows(), columns = tensor.columns();
  std::vector<Counted> windows = windows_of(tensor);
  std::optional<ErrorRegion> worst_head;
  for (std::int64_t head = 0; head < tensor.rows() / rows; ++head) {
    ErrorRegion region;
    for (std::int64_t i = 0; i < rows * columns; ++i) {
      const std::int64_t at = head * rows * columns + i;
      const double error = std::abs(elements.at(at) - reference.value(at));
      const bool too_large = is_too_large(reference, at, error);
      count(error, too_large, region);
      for (Counted& each : windows) {
        if (each.window.holds(i / columns, i % columns)) count(error, too_large, each.region);
      }
    }
    if (worst_head && worst_head->wrong >= region.wrong) continue;
    if (!tensor.axes.empty()) region.where = describe_head(tensor, head);
    worst_head = region;
  }
  std::vector<ErrorRegion> regions;
  for (Counted& each : windows) regions.push_back(std::move(each.region));
  if (worst_head && tensor.rows() > rows) regions.push_back(*worst_head);
  if (!reference.tolerance) {
    for (ErrorRegion& region : regions) region.limit = reference.limits.max_abs;
  }
  return regions;
}

}  // namespace fatune
