// checks.hpp: Declares the checks that several gates make of a launch.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "worker/gates/gate_context.hpp"

namespace fatune {

/// Takes checksums of inputs and outputs, and asks the gates of every run.
MaybeFailure check_guards(GateContext& context, InputSet& set);
/// Runs the candidate, then check_guards().
MaybeFailure run_guarded(GateContext& context, InputSet& set, std::optional<std::uint8_t> poison);
/// Runs the candidate once more on context.set. The outputs must be those of the set's first run,
/// whose bytes are on the host. A program that may vary may leave others that are right.
MaybeFailure check_repeatable(GateContext& context, std::optional<std::uint8_t> poison);
/// The output must be the verified one of the set at `index`. An output that was not verified is
/// compared with the reference now; so is a different output of a program that may vary. `when`
/// is for the reason.
MaybeFailure check_verified(GateContext& context, std::size_t index, GateId gate,
                            const std::string& when);

/// Tolerates two errors of a baseline, never of a template: 8-bit sums where every v is 1, and
/// numbers for inputs that are not finite. The times count, and the row notes the error.
bool tolerate_baseline_error(GateContext& context, const Judged& judged, const InputSet& set);

/// Judges the fp8 output that a library keeps in memory of its own (Executable::own_output).
MaybeFailure check_own_output(GateContext& context, const OwnOutput& own, const InputSet& set);
/// Replaces the gates that such an output cannot meet by a note.
void note_own_output(GateContext& context);

}  // namespace fatune
