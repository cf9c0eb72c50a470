// inert.hpp: Finds parameters that change neither machine code nor launch.
#pragma once

#include <map>
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

/// Configs that fail to compile for one reason.
struct CompileFault {
  std::string config;  ///< the first of them
  int configs = 0;
};
/// By the compiler's first line, or by the difference of machine code and manifest.
using CompileFaults = std::map<std::string, CompileFault>;

/// Compiles one-parameter neighbours of the default config and of `bases` - 1 other valid configs,
/// chosen with a fixed seed. Configs that do not compile are added to `faults`. The space must not
/// be empty.
Result<std::vector<ParameterEffect>> parameter_effects(const Space& space,
                                                       const DeviceLimits& limits,
                                                       CompilePool& pool, int bases,
                                                       CompileFaults& faults);

}  // namespace fatune
