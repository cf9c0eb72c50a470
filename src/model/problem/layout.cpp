// layout.cpp: Parses and prints layouts; checks strides for overlap and alignment.
#include "model/problem/layout.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "core/fields.hpp"
#include "core/text.hpp"
#include "model/problem/problem.hpp"

namespace fatune {
namespace {

constexpr std::array<std::string_view, 4> kTensors = {"q", "k", "v", "out"};
constexpr std::array<std::string_view, 3> kKinds = {"bhsd", "bshd", "packed"};
constexpr std::int64_t kRowAlignment = 16;  ///< bytes: required by cp.async, TMA and 16-byte stores

Layout& at(Layouts& layouts, std::string_view tensor) {
  if (tensor == "q") return layouts.q;
  if (tensor == "k") return layouts.k;
  return tensor == "v" ? layouts.v : layouts.out;
}

Result<Layout> parse_layout(std::string_view text) {
  const auto kind = std::ranges::find(kKinds, text);
  if (kind != kKinds.end()) return Layout{static_cast<LayoutKind>(kind - kKinds.begin()), {}};
  const std::vector<std::string> parts = split(text, ':');
  std::vector<std::int64_t> values;
  for (const std::string& part : parts) {
    const auto value = parse_integer(trim(part));
    if (value && parts.size() == 3 && (*value < 1 || *value > kLargestTensor)) {
      return usage_error(fmt::format("'{}' has a stride of {}; strides are from 1 to {} elements",
                                     text, *value, kLargestTensor));
    }
    if (value) values.push_back(*value);
  }
  if (parts.size() != 3 || values.size() != 3) {
    const std::vector<std::string> kinds(kKinds.begin(), kKinds.end());
    return usage_error(fmt::format(
        "'{}' is no layout: bhsd, bshd, packed, or strides BATCH:HEAD:ROW in elements{}", text,
        nearest_hint(text, kinds, "; did you mean {}?")));
  }
  return Layout{LayoutKind::kStrides, {values[0], values[1], values[2]}};
}

/// Returns the single word that describes all tensors.
Result<Layouts> spread(std::string_view text) {
  FATUNE_TRY(const Layout layout, parse_layout(text));
  if (layout.kind == LayoutKind::kStrides)
    return usage_error(fmt::format("'{}' does not say of which tensor: say q={}", text, text));
  Layouts layouts{layout, layout, layout, layout};
  if (layout.kind == LayoutKind::kPacked) layouts.out.kind = LayoutKind::kBshd;
  return layouts;
}

std::string name(const Layout& layout) {
  if (layout.kind != LayoutKind::kStrides)
    return std::string(kKinds.at(static_cast<std::size_t>(layout.kind)));
  return fmt::format("{}:{}:{}", layout.strides.batch, layout.strides.head, layout.strides.row);
}

struct Dimension {
  std::int64_t size, stride;
};

/// Returns the batch, head and row dimensions with more than one entry, smallest stride first.
std::vector<Dimension> by_stride(const TensorSizes& sizes, const Strides& strides) {
  std::vector<Dimension> all = {
      {sizes.batch, strides.batch}, {sizes.heads, strides.head}, {sizes.rows, strides.row}};
  std::erase_if(all, [](const Dimension& each) { return each.size == 1; });
  std::ranges::sort(all, {}, &Dimension::stride);
  return all;
}

}  // namespace

const Layout& Layouts::of(std::string_view tensor) const {
  FATUNE_CHECK(std::ranges::count(kTensors, tensor) > 0, "only these have layouts");
  return at(const_cast<Layouts&>(*this), tensor);
}

std::string name(const Layouts& layouts) {
  std::string shortest;
  const auto consider = [&](std::string_view word, const Layouts& base) {
    std::vector<std::string> parts;
    if (!word.empty()) parts.emplace_back(word);
    for (const std::string_view tensor : kTensors) {
      if (layouts.of(tensor) == base.of(tensor)) continue;
      parts.push_back(fmt::format("{}={}", tensor, name(layouts.of(tensor))));
    }
    const std::string text = join(parts, ",");
    if (shortest.empty() || text.size() < shortest.size()) shortest = text;
  };
  for (const std::string_view word : kKinds) {
    if (const Result<Layouts> base = spread(word))
      consider(base->plain() && !layouts.plain() ? "" : word, *base);
  }
  return shortest;
}

std::string slug(const Layouts& layouts) {
  std::string text = name(layouts);
  for (char& c : text) c = in_class(c, "a-z0-9") ? c : '-';
  return text;
}

Result<Layouts> parse_layouts(std::string_view text) {
  Layouts layouts;
  std::vector<std::string> seen;
  for (const std::string& part : split(text, ',')) {
    const std::size_t equals = part.find('=');
    if (equals == std::string::npos) {
      if (!seen.empty())
        return usage_error(fmt::format("'{}' must stand first, before what differs", trim(part)));
      FATUNE_TRY(layouts, spread(trim(part)));
      seen.emplace_back();
      continue;
    }
    const std::string tensor(trim(part.substr(0, equals)));
    if (std::ranges::count(kTensors, tensor) == 0)
      return usage_error(fmt::format("'{}' is not one of q, k, v, out", tensor));
    if (std::ranges::count(seen, tensor) > 0)
      return usage_error(fmt::format("{} has two layouts", tensor));
    FATUNE_TRY(at(layouts, tensor), parse_layout(trim(part.substr(equals + 1))));
    seen.push_back(tensor);
  }
  return layouts;
}

FieldWord<Layouts> word_of(const Layouts*) { return {.parse = parse_layouts}; }

Strides bhsd_strides(const TensorSizes& sizes) {
  const std::int64_t head = sizes.rows * sizes.columns;
  return {sizes.heads * head, head, sizes.columns};
}

Strides bshd_strides(const TensorSizes& sizes) {
  const std::int64_t row = sizes.heads * sizes.columns;
  return {sizes.rows * row, sizes.columns, row};
}

std::string strides_fault(const TensorSizes& sizes, const Strides& strides, int width) {
  std::int64_t span = sizes.columns;
  for (const auto& [size, stride] : by_stride(sizes, strides)) {
    if (stride < span)
      return fmt::format("rows overlap: a stride of {} elements is less than the {} it steps over",
                         stride, span);
    if (stride > kLargestTensor / width / size) return "it would reach over 1 TiB";
    if (stride * width % kRowAlignment != 0)
      return fmt::format("rows are not {}-byte aligned: a stride of {} elements is {} bytes",
                         kRowAlignment, stride, stride * width);
    span += (size - 1) * stride;
  }
  return {};
}

}  // namespace fatune
