// inert.hpp: Finds parameters that change neither machine code nor launch.
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
  int changed = 0;     ///< number of neighbours with another program
  /// Examples of values without a difference: "64 = 128 at BLOCK_N=..".
  std::vector<std::string> same;
  bool inert() const { return neighbours > 0 && changed == 0; }
};

/// Compiles one-parameter neighbours of the default config and of `bases` - 1 other valid configs,
/// chosen with a fixed seed. Configs that do not compile are skipped. The space must not be empty.
Result<std::vector<ParameterEffect>> parameter_effects(const Space& space,
                                                       const DeviceLimits& limits,
                                                       CompilePool& pool, int bases);

}  // namespace fatune
