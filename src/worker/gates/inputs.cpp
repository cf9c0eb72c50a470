// inputs.cpp: Refuses a kernel that changed one of its inputs.
#include "worker/gates/gates.hpp"

namespace fatune {

GateReport check_inputs(GateContext& context) {
  const InputSet& set = *context.set;
  for (std::size_t i = 0; i < set.inputs.size(); ++i) {
    if (context.input_sums[i] != set.checksums[i])
      return refused(GateId::kInputs, "the kernel changed " + set.inputs[i].name());
  }
  return {};
}

}  // namespace fatune
