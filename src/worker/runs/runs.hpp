// runs.hpp: Declares how candidates are verified and timed, alone and in rounds.
#pragma once

#include "worker/device/device_problem.hpp"
#include "worker/device/device_session.hpp"
#include "worker/protocol/messages.hpp"

namespace fatune {

/// Loads, verifies and times one candidate. It never fails: whatever a candidate does is an
/// outcome. Memory that the candidate overwrote is restored.
RunReply run_candidate(DeviceSession& session, DeviceProblem& problem, const RunOrder& order,
                       const PhaseNote& note);

/// Times all contestants round by round, each round in another order. A template that fails here,
/// after it passed every gate, is an error; an implementation from elsewhere is a failed row.
Result<RoundsReply> run_rounds(DeviceSession& session, DeviceProblem& problem,
                               const RoundsOrder& order, const PhaseNote& note);

}  // namespace fatune
