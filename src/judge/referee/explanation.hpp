// explanation.hpp: Explains a refused kernel to its author, and profiles one that passed.
#pragma once

#include <string>
#include <vector>

#include "core/json.hpp"
#include "judge/referee/judgement.hpp"
#include "model/results/measurement.hpp"
#include "tune/profile/profile.hpp"

namespace fatune {

struct AskExplanation {
  std::string id;
};
/// Says where and by how much outputs differ, but neither expected values nor inputs.
struct Explanation {
  std::string id, outcome;
  std::string gate;       ///< empty if no gate refused the kernel
  std::string statement;  ///< what the gate requires
  std::string why;        ///< why the gate exists
  std::string reason;     ///< reason recorded for this kernel
  std::string line;       ///< source line that the compiler names
  std::string usual;      ///< usual cause of this failure
  std::vector<ErrorRegion> regions;
};
void fields(AskExplanation& x, FieldList& f);
void fields(Explanation& x, FieldList& f);

/// `source` is the submitted source.
Explanation explain(const JudgedKernel& judgement, const std::string& source);

struct AskProfile {
  std::string id;
};
struct KernelProfile {
  JudgedKernel judgement;
  Profile profile;  ///< without counters, the profile has the reason and the remedy
};
void fields(AskProfile& x, FieldList& f);
void fields(KernelProfile& x, FieldList& f);

}  // namespace fatune
