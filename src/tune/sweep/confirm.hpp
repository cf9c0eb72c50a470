// confirm.hpp - a config measured again, against what best.json says of it.
#pragma once

#include <optional>

#include "model/kernel/kernel.hpp"
#include "model/results/comparison.hpp"
#include "tune/sweep/best.hpp"

namespace fatune {

/// By how much two runs in fresh processes differ when nothing else does: docs/measuring.md, "How
/// far a number carries".
inline constexpr double kRunToRun = 0.01;

/// Empty when one of the two has no time. `row` is the winner's config measured now, on the device
/// and with the compiler of `here`, from the text of `kernel`.
std::optional<Confirmation> confirm(const SavedBest& saved, const SavedWinner& winner,
                                    const FinalRecord& row, const Environment& here,
                                    const Kernel& kernel);

}  // namespace fatune
