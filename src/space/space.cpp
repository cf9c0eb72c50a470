// space.cpp - a kernel's parameters, constraints and device limits to the set of valid configs.
#include "space/space.hpp"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "base/text.hpp"
#include "space/enumerate.hpp"
#include "space/rules.hpp"

namespace fatune {
namespace {

constexpr std::uint64_t kMaxRawSize = std::numeric_limits<std::uint64_t>::max() / 2;

Result<std::uint64_t> product_of(const Manifest& manifest) {
  std::uint64_t product = 1;
  for (const Parameter& parameter : manifest.parameters) {
    if (product > kMaxRawSize / parameter.values.size()) {
      return file_error(
          fmt::format("{}: field 'parameters' spans more than 2^63 configs", manifest.where));
    }
    product *= parameter.values.size();
  }
  return product;
}

std::string describe_positions(const Manifest& manifest, std::span<const std::uint16_t> positions) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < positions.size(); ++i) {
    const Parameter& parameter = manifest.parameters[i];
    parts.push_back(fmt::format("{}={}", parameter.name, describe(parameter.values[positions[i]])));
  }
  return join(parts, " ");
}

Error too_large(const Manifest& manifest, const Problem& problem) {
  const auto longest = std::max_element(
      manifest.parameters.begin(), manifest.parameters.end(),
      [](const Parameter& a, const Parameter& b) { return a.values.size() < b.values.size(); });
  return usage_error(
      fmt::format("kernel {} has more than {} valid configs for {}; fix a parameter or shorten a "
                  "list of values "
                  "in {} (the longest is that of {}, with {})",
                  manifest.name, Space::kMaxEnumerated, describe(problem), manifest.where,
                  longest->name, longest->values.size()));
}

}  // namespace

Result<Space> Space::build(KernelRef kernel, const Problem& problem, const DeviceLimits& limits) {
  const Manifest& manifest = kernel->manifest;
  FATUNE_TRY(const std::string unsupported, unsupported_reason(manifest, problem, limits));
  if (!unsupported.empty()) {
    return usage_error(fmt::format("kernel {} cannot do {} on {}: it {}", manifest.name,
                                   describe(problem), name(limits.arch), unsupported));
  }
  Space space;
  space.problem_ = problem;
  FATUNE_TRY(space.raw_size_, product_of(manifest));
  std::vector<std::size_t> sizes;
  for (const Parameter& parameter : manifest.parameters) sizes.push_back(parameter.values.size());
  FATUNE_TRY(std::vector<CompiledRule> rules, compile_rules(manifest, problem, limits));
  FATUNE_TRY(Enumeration found,
             enumerate(sizes, rules, kMaxEnumerated, [&](std::span<const std::uint16_t> positions) {
               return describe_positions(manifest, positions);
             }));
  if (found.too_large) return too_large(manifest, problem);
  space.codes_ = std::move(found.codes);
  for (std::size_t i = 0; i < rules.size(); ++i) {
    if (i >= manifest.constraints.size() && found.excluded[i] == 0) continue;
    space.ruled_out_.push_back({rules[i].text(), rules[i].why(), found.excluded[i]});
  }
  space.kernel_ = std::move(kernel);
  return space;
}

std::uint64_t Space::encode(const Point& point) const {
  std::uint64_t code = 0;
  for (std::size_t i = 0; i < point.size(); ++i) {
    code = code * axes()[i].values.size() + point[i];
  }
  return code;
}

Point Space::point(std::uint64_t index) const {
  FATUNE_CHECK(index < codes_.size(), "an index must be below the number of valid points");
  std::uint64_t code = codes_[index];
  Point point(axes().size());
  for (std::size_t i = point.size(); i-- > 0;) {
    const std::uint64_t size = axes()[i].values.size();
    point[i] = static_cast<std::uint16_t>(code % size);
    code /= size;
  }
  return point;
}

std::optional<std::uint64_t> Space::index_of(const Point& point) const {
  if (point.size() != axes().size()) return std::nullopt;
  for (std::size_t i = 0; i < point.size(); ++i) {
    if (point[i] >= axes()[i].values.size()) return std::nullopt;
  }
  const std::uint64_t code = encode(point);
  const auto found = std::lower_bound(codes_.begin(), codes_.end(), code);
  if (found == codes_.end() || *found != code) return std::nullopt;
  return static_cast<std::uint64_t>(found - codes_.begin());
}

Config Space::config(const Point& point) const {
  FATUNE_CHECK(point.size() == axes().size(), "a point has one position for each parameter");
  Config config;
  for (std::size_t i = 0; i < point.size(); ++i) {
    config.settings.push_back({axes()[i].name, axes()[i].values.at(point[i])});
  }
  return config;
}

Result<Point> Space::point_of(const Config& config) const {
  return positions_of(kernel_->manifest, config);
}

Candidate Space::candidate(const Point& point) const { return {kernel_, config(point), problem_}; }

std::optional<Point> Space::default_point() const {
  Point point;
  for (const Parameter& parameter : axes()) {
    point.push_back(static_cast<std::uint16_t>(parameter.default_position));
  }
  if (!contains(point)) return std::nullopt;
  return point;
}

std::vector<Point> Space::neighbours(const Point& point) const {
  std::vector<Point> found;
  for (std::size_t axis = 0; axis < point.size(); ++axis) {
    Point other = point;
    for (std::size_t value = 0; value < axes()[axis].values.size(); ++value) {
      if (value == point[axis]) continue;
      other[axis] = static_cast<std::uint16_t>(value);
      if (contains(other)) found.push_back(other);
    }
  }
  return found;
}

}  // namespace fatune
