// candidate_run.hpp - an order to check and time a candidate, to its answer.
#pragma once

#include <functional>
#include <string_view>

#include "worker/device/device_problem.hpp"
#include "worker/device/device_session.hpp"
#include "worker/protocol/messages.hpp"

namespace fatune {

/// Reports the present phase to the parent.
using PhaseNote = std::function<void(std::string_view phase)>;

/// Never an error: whatever a candidate does is an outcome. Memory that it overwrote is restored.
RunReply run_candidate(DeviceSession& session, DeviceProblem& problem, const RunOrder& order,
                       const PhaseNote& note);

/// Graph replays and cold launches of all contestants, round by round, each round in another order.
/// A template that fails here, after it passed every gate, is an error; an implementation from
/// elsewhere is a failed row.
Result<RoundsReply> run_rounds(DeviceSession& session, DeviceProblem& problem,
                               const RoundsOrder& order, const PhaseNote& note);

}  // namespace fatune
