// poison.cpp: Runs the candidate over another pattern, which shows elements that it never wrote.
#include "worker/gates/gates.hpp"

namespace fatune {

GateReport check_poison(GateContext& context) {
  if (context.program.own_output()) return {};
  return check_repeatable(context, kPoisons[1]);
}

}  // namespace fatune
