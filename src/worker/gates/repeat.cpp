// repeat.cpp: Runs the candidate over its own output, which must stay the same to the bit.
#include "worker/gates/gates.hpp"

namespace fatune {

GateReport check_repeat(GateContext& context) {
  if (context.program.own_output()) return {};
  return check_repeatable(context, std::nullopt);
}

}  // namespace fatune
