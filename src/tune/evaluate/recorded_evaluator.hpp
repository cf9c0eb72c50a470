// recorded_evaluator.hpp - a journal to an Evaluator whose every answer says `recorded`.
#pragma once

#include <filesystem>
#include <memory>
#include <span>

#include "core/result.hpp"
#include "model/kernel/kernel.hpp"
#include "tune/evaluate/evaluator.hpp"

namespace fatune {

/// `records` and `environment` come from a journal that the caller loads; names that the `kernels`
/// had formerly are brought up to date.
/// A candidate that the journal does not hold is `pruned` with the reason "not in the recording";
/// a contestant of the finals is `unavailable`; a problem is a usage error that lists those it
/// holds.
Result<std::unique_ptr<Evaluator>> make_recorded_evaluator(Environment environment,
                                                           std::vector<Record> records,
                                                           std::span<const KernelRef> kernels = {});

}  // namespace fatune
