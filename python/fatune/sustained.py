"""sustained.py - a step that goes on for so long that it has the clock that the GPU's power limit leaves it.

In short turns of several contenders one clock is for all. A program that goes on has its own: at the limit a kernel
that keeps the GPU busier draws more power, and its clock falls.
"""
from __future__ import annotations

import math
import random
import statistics
import time
from typing import Dict, List, NamedTuple, Optional, Tuple

from .gpu_clock import Reading, Sensor
from .proving import OURS, Contender, Times
from .recorder import Clock

# Chosen: the clock of an H200 follows a change of its load within 0.2 to 0.4 s.
_SETTLE_S, _TURN_S = 0.3, 0.3
_ROUNDS = 8
_QUEUED_US = 10_000  # chosen: of calls at a time
_SEED = 0


def measure_sustained(contenders: Dict[str, Contender], times: Times, clock: Clock,
                      sensor: Optional[Sensor]) -> Optional[Times]:
    """OURS and the best of the others in long turns, eight rounds of 1.2 s.

    None where the power limit does not hold down the clock of OURS, or nobody tells: one clock is for all then.
    """
    if sensor is None:
        return None
    turns = {name: _LongTurn(contenders[name], times.medians_us[name], clock, sensor) for name in (OURS, times.best)}
    if not turns[OURS].run(_SETTLE_S)[1].at_power_limit:
        return None
    rounds_us: Dict[str, List[float]] = {name: [] for name in turns}
    mhz: Dict[str, List[float]] = {name: [] for name in turns}
    chance = random.Random(_SEED)
    for _ in range(_ROUNDS):
        for name in chance.sample(list(turns), len(turns)):
            turns[name].run(_SETTLE_S)
            us, reading = turns[name].run(_TURN_S)
            rounds_us[name].append(us)
            mhz[name].append(reading.mhz)
    return Times(rounds_us, {name: statistics.median(values) for name, values in mhz.items()})


class _LongTurn(NamedTuple):
    contender: Contender
    us: float  # of a step, about
    clock: Clock
    sensor: Sensor

    def run(self, seconds: float) -> Tuple[float, Reading]:
        """Microseconds of a step, and what was read in the middle."""
        calls = max(1, math.ceil(_QUEUED_US / max(self.us, 1.0)))
        marks, readings, end = [self.clock.now()], [], time.monotonic() + seconds
        with self.contender.context():
            while time.monotonic() < end:
                for _ in range(calls):
                    self.contender.step()
                marks.append(self.clock.now())
                if len(marks) > 2:  # the device is about to begin the calls just queued
                    self.clock.us_between(*marks[-3:-1])
                readings.append(self.sensor.read())
        us = self.clock.us_between(marks[0], marks[-1]) / (calls * (len(marks) - 1))
        return us, readings[len(readings) // 2]
