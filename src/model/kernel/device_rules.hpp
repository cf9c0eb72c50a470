// device_rules.hpp - what a launch asks for against what a device allows; private to space/.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "model/kernel/limits.hpp"
#include "model/problem/problem.hpp"

namespace fatune {

/// Each says whether the request fits, and if not writes the reason to `why` unless that is null.
bool shared_fits(std::int64_t dynamic_bytes, std::int64_t static_bytes, const DeviceLimits& limits,
                 std::string* why);
/// `block`: threads in x, y, z.
bool block_fits(std::span<const std::int64_t> block, const DeviceLimits& limits, std::string* why);
/// `grid` and `cluster`: blocks in x, y, z.
bool grid_fits(std::span<const std::int64_t> grid, std::span<const std::int64_t> cluster,
               const DeviceLimits& limits, std::string* why);
/// `box`: elements of a tensor map's four dimensions, fastest first.
bool box_fits(std::span<const std::int64_t> box, int swizzle, Dtype dtype, std::string* why);
/// The tensors of the problem and all scratch together; fits always when the device's memory is
/// unknown.
bool memory_fits(std::span<const std::int64_t> scratch_bytes, const Problem& problem,
                 const DeviceLimits& limits, std::string* why);

/// Whether the device has programmatic dependent launch.
bool has_dependent_launches(const Arch& arch);

}  // namespace fatune
