// own_problem.hpp - a problem of an operation that a manifest declares: its sizes and its work.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/fields_fwd.hpp"
#include "core/json.hpp"
#include "core/result.hpp"

namespace fatune {

/// The largest value of a size: kernels count in 32 bits.
inline constexpr std::int64_t kLargestSize = (std::int64_t{1} << 31) - 1;
/// Of a tensor, in bytes: chosen, beyond any device.
inline constexpr std::int64_t kLargestTensor = std::int64_t{1} << 40;

/// A size of an operation, by the name of its macro.
struct NamedSize {
  std::string name;
  std::int64_t value = 1;
  friend auto operator<=>(const NamedSize&, const NamedSize&) = default;
};

/// Sizes and work of a custom operation, in place of attention's. Records keep the declared work,
/// so that rates and floors need no manifest.
struct OwnProblem {
  std::string operation;
  std::vector<NamedSize> sizes;  ///< in the declaration's order
  std::int64_t flops = 0;        ///< that any right kernel does; 0: not told
  std::int64_t bytes_read = 0;   ///< that any right kernel reads
  std::int64_t bytes_written = 0;
  friend auto operator<=>(const OwnProblem&, const OwnProblem&) = default;
};

/// "ROWS=4096,COLUMNS=1024", each size from 1 to 2^31-1 and named once. The error names `where` and
/// the part that is wrong.
Result<std::vector<NamedSize>> parse_sizes(std::string_view text, std::string_view where);
/// "ROWS=4096,COLUMNS=1024": what parse_sizes() reads.
std::string describe(const std::vector<NamedSize>& sizes);

/// {"ROWS": 4096, "COLUMNS": 1024}
Result<std::vector<NamedSize>> sizes_from_json(const Json& json, const std::string& where);
void fields(OwnProblem& x, FieldList& f);

}  // namespace fatune
