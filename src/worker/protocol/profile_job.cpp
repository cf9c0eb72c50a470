// profile_job.cpp - the fields of a profile job's file.
#include "worker/protocol/profile_job.hpp"

#include "core/fields.hpp"

namespace fatune {

void fields(ProfileJob& x, FieldList& f) {
  f.document("fatune.profile-job", 1);
  f("device", x.device).required();
  f("problem", x.problem).required();
  f("warm_ups", x.warm_ups).required();
  f("seed", x.seed).required();
  f("custom", x.custom);
  f("program", x.program).required();
}

}  // namespace fatune
