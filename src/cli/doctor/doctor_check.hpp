// doctor_check.hpp - findings about this machine to the text or JSON that doctor prints.
#pragma once

#include <string>
#include <vector>

#include "core/fields_fwd.hpp"
#include "model/results/document.hpp"
#include "out/text/paint.hpp"

namespace fatune::cli {

enum class Health {
  kGood,
  kNote,   ///< works without it
  kNoisy,  ///< works, but timings will vary
  kBad,    ///< cannot tune on a GPU
};

struct Check {
  Health health = Health::kGood;
  std::string group;   ///< "GPU", "Compiler", "Machine", "Baselines", "Tools"
  std::string what;    ///< "NVRTC"
  std::string found;   ///< version and place; else what is missing
  std::string remedy;  ///< a line to run, or what to do; empty when all is well
};
using Checks = std::vector<Check>;

/// Nothing is kBad.
bool is_able(const Checks& checks);
/// Nothing is kNoisy.
bool is_quiet(const Checks& checks);
/// A heading for each group, a line for each finding, its remedy below it, and the conclusion.
std::string checks_text(const Checks& checks, const Paint& paint);
/// fatune.doctor/2
struct DoctorDocument {
  DocumentHead head;
  Checks checks;
};
void fields(Check& x, FieldList& f);
void fields(DoctorDocument& x, FieldList& f);

}  // namespace fatune::cli
