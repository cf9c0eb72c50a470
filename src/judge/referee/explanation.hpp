// explanation.hpp - a judgement that refused a kernel to what its author can do about it.
#pragma once

#include <string>
#include <vector>

#include "judge/referee/judgement.hpp"
#include "judge/referee/problem_book.hpp"
#include "model/results/error_region.hpp"

namespace fatune {

struct AskExplanation {
  std::string id;
};
/// Where, and by how much: never what was expected, nor on which inputs.
struct Explanation {
  std::string id, outcome;
  std::string gate;       ///< empty: nothing refused it
  std::string statement;  ///< of the gate
  std::string why;        ///< it is one
  std::string reason;     ///< of this kernel
  std::string line;       ///< of the source, that the compiler speaks of
  std::string usual;      ///< what is behind it as a rule
  std::vector<ErrorRegion> regions;
};
void fields(AskExplanation& x, FieldList& f);
void fields(Explanation& x, FieldList& f);

/// `source`: what was submitted.
Explanation explain(const JudgedKernel& judgement, const std::string& source);

}  // namespace fatune
