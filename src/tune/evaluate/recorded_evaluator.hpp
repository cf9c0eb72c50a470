// recorded_evaluator.hpp - a journal to an Evaluator whose every answer says `recorded`.
#pragma once

#include <filesystem>
#include <memory>

#include "core/result.hpp"
#include "tune/evaluate/evaluator.hpp"

namespace fatune {

/// `records` and `environment` come from a journal that the caller loads.
/// A candidate that the journal does not hold is `pruned` with the reason "not in the recording";
/// a contestant of the finals is `unavailable`; a problem is a usage error that lists those it
/// holds.
Result<std::unique_ptr<Evaluator>> make_recorded_evaluator(Environment environment,
                                                           std::vector<Record> records);

}  // namespace fatune
