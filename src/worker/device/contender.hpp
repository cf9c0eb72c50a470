// contender.hpp - a program ready to take its turn in every round.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "worker/device/gates.hpp"
#include "worker/device/open_program.hpp"
#include "worker/timing/sampler.hpp"

namespace fatune {

class Contender {
 public:
  static Result<Contender> make(DeviceSession& session, DeviceProblem& problem,
                                const Program& program);
  bool takes_turn(int round, int rounds) const;
  /// A replay that warms up, one that counts, then cold launches, of which the median counts.
  Result<TurnTimes> turn(DeviceSession& session, DeviceProblem& problem, int cold_launches);
  /// After the rounds: the gates of timed launches; those passed are in `found`. Of one that runs
  /// in its own process only its times are judged.
  MaybeFailure check_timed(DeviceSession& session, DeviceProblem& problem, const RoundsRow& row,
                           Verification& found);
  std::int64_t hot_launches() const;
  std::string detail() const { return program_->detail(); }

 private:
  SelfTimed* self_timed() const { return program_->self_timed(); }

  OpenProgram program_;
  HotLoop loop_;
  Micros each_{0};
};

}  // namespace fatune
