// persisting_l2.cpp: Refuses candidates behind which a part of the L2 cache is set aside.
#include "core/text.hpp"
#include "core/units.hpp"
#include "gpu/objects.hpp"
#include "worker/gates/gates.hpp"

namespace fatune {

GateReport check_persisting_l2(GateContext& context) {
  const auto limit = gpu::persisting_limit();
  if (!limit) return context.failed(limit);
  if (*limit && **limit == 0) return {};
  const Status forbidden = gpu::forbid_persisting_lines(context.session.stream.raw());
  if (auto failure = context.failed(forbidden)) return failure;
  const auto least = gpu::persisting_limit();
  if (!least) return context.failed(least);
  if (!*limit || !*least || **least >= **limit)
    return GateReport::not_run("the device has no limit for persisting lines to set");
  return refused(
      GateId::kPersistingL2,
      describe(Bytes(**limit)) + " of the L2 cache were set aside for lines that survive a flush");
}

}  // namespace fatune
