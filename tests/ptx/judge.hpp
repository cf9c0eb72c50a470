// judge.hpp: Gives interpreted outputs the verdict of the device's accuracy gate.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ptx/interpret.hpp"
#include "worker/verify/host_reference.hpp"

namespace fatune::ptx {

/// Inputs of an attention problem and what is right for them.
struct Expected {
  Attention problem;
  HostInputs inputs;
  TensorReference out;
  std::optional<LseReference> lse;
};
/// The reference is attention in fp64; the low-precision reference, from which limits come, is
/// `naive` with rounded intermediates, interpreted. An error when the low-precision reference
/// breaks its own limits.
Result<Expected> expect(const Setting& setting, const KernelRef& naive, const Attention& problem,
                        const InputCase& which = {});

struct Examined {
  bool passed = false;
  std::string reason;  ///< of a failure; what the interpreter refused, too
  double margin = 0;   ///< largest value over its limit
  double max_abs = 0;  ///< error of an output
  std::string where;   ///< the output of that error
  double mean_abs = 0, relative_l2 = 0;
  std::uint64_t products = 0;  ///< multiplications of tensor cores
};
Examined examine(const Setting& setting, const Expected& expected, const Candidate& candidate,
                 Asynchrony asynchrony);

}  // namespace fatune::ptx
