// inert.hpp - finds parameters that change neither machine code nor launch.
#pragma once

#include <string>
#include <vector>

#include "core/result.hpp"
#include "model/space/space.hpp"
#include "tune/compile/pool.hpp"

namespace fatune {

struct ParameterEffect {
  std::string parameter;
  int neighbours = 0;  ///< configs compiled that differ from a base config in this parameter only
  int changed = 0;     ///< of those, how many gave another program
  /// A few of the values that made no difference: "64 = 128 at BLOCK_N=..".
  std::vector<std::string> same;
  bool inert() const { return neighbours > 0 && changed == 0; }
};

/// Compiles one-parameter neighbours of the default config and of `bases` - 1 other valid ones,
/// chosen with a fixed seed. A config that does not compile is left out. The space must not be
/// empty.
Result<std::vector<ParameterEffect>> parameter_effects(const Space& space,
                                                       const DeviceLimits& limits,
                                                       CompilePool& pool, int bases);

}  // namespace fatune
