// kernel_profile.cpp: Lists the fields of a profile that a client asks for.
#include "judge/referee/kernel_profile.hpp"

#include <nlohmann/json.hpp>

#include "core/fields.hpp"

namespace fatune {

void fields(AskProfile& x, FieldList& f) {
  f("id", x.id).required().filled().about("Of a judgement that no gate refused");
  f.closed();
}

void fields(KernelProfile& x, FieldList& f) {
  f("id", x.judgement.record.id).required().looks_like(kIdPattern);
  f("kernel", x.judgement.record.kernel);
  f("config", x.judgement.record.config).object().schema(kConfigSchema);
  f("profile", x.profile).required().about("Counters, the bottleneck, and what each figure means");
}

}  // namespace fatune
