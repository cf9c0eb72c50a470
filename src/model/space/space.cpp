// space.cpp: Builds the set of valid configs from parameters, constraints and device limits.
#include "model/space/space.hpp"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "core/text.hpp"
#include "model/space/rules.hpp"

namespace fatune {
namespace {

constexpr std::uint64_t kMaxRawSize = std::numeric_limits<std::uint64_t>::max() / 2;

Status check_product(const Manifest& manifest) {
  std::uint64_t product = 1;
  for (const Parameter& parameter : manifest.parameters) {
    if (product > kMaxRawSize / parameter.values.size()) {
      return file_error(
          fmt::format("{}: field 'parameters' spans more than 2^63 configs", manifest.where));
    }
    product *= parameter.values.size();
  }
  return {};
}

Error too_large(const Manifest& manifest, const Problem& problem) {
  const auto longest = std::ranges::max_element(
      manifest.parameters, {}, [](const Parameter& each) { return each.values.size(); });
  return usage_error(
      fmt::format("kernel {} has more than {} valid configs{}; fix a parameter or shorten a list "
                  "of values in {} (the longest is that of {}, with {})",
                  manifest.name, Space::kMaxEnumerated,
                  manifest.stages.empty() ? "" : " for " + describe(problem), manifest.where,
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
  FATUNE_TRY_STATUS(check_product(manifest));
  std::vector<Axis> axes;
  std::vector<std::size_t> sizes;
  for (const Parameter& parameter : manifest.parameters) {
    axes.push_back({parameter.name, parameter.values.size(), parameter.ordinal});
    sizes.push_back(parameter.values.size());
  }
  FATUNE_TRY(std::vector<CompiledRule> rules, compile_rules(manifest, problem, limits));
  auto enumerated =
      enumerate(sizes, rules, kMaxEnumerated, [&](std::span<const std::uint16_t> positions) {
        return describe(config_at(manifest, positions));
      });
  if (!enumerated && enumerated.error().kind == ErrorKind::kUsage)
    return with_context(std::move(enumerated).error(), "listing the configs of " + manifest.name);
  FATUNE_TRY(Enumeration found, std::move(enumerated));
  if (found.too_large) return too_large(manifest, problem);
  space.raw_size_ = found.raw_size;
  space.steps_ = found.steps;
  space.lattice_ = Lattice(std::move(axes), std::move(found.codes));
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const bool idle_limit =
        space.ruled_out_.size() >= manifest.constraints.size() && found.excluded[i] == 0;
    if (rules[i].is_choice() || idle_limit) continue;
    space.ruled_out_.push_back({rules[i].text(), rules[i].why(), found.excluded[i]});
  }
  space.kernel_ = std::move(kernel);
  return space;
}

Config Space::config(const Point& point) const { return config_at(kernel_->manifest, point); }

Result<Point> Space::point_of(const Config& config) const {
  return positions_of(kernel_->manifest, config);
}

Candidate Space::candidate(const Point& point) const { return {kernel_, config(point), problem_}; }

std::optional<Point> Space::default_point() const {
  const Point point = default_positions(kernel_->manifest);
  if (!contains(point)) return std::nullopt;
  return point;
}

}  // namespace fatune
