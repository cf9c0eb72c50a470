"""proving.py: Compares outputs and times of a step with different attention."""
from __future__ import annotations

import contextlib
import dataclasses
import math
import random
import statistics
import time
from typing import Any, Callable, ContextManager, Dict, List, NamedTuple, Sequence, Tuple

import torch
from torch.utils import _pytree as pytree

from . import exact, fastpath
from .recorder import Clock, uncompiled

Step = Callable[[], Any]

OURS, PYTORCH = "fatune", "pytorch"  # of contenders; the others are PyTorch's backends

_SEED = 0
_MOST, _MEAN = 2.0, 1.5  # of PyTorch's own error, as of kernels (docs/correctness.md)
_ROUNDS, _LEAST_ROUNDS = 40, 8
_TURN_US = 20_000  # chosen: a turn is long against the jitter of events
_RESAMPLES = 10_000


@dataclasses.dataclass(frozen=True)
class Output:
    """One tensor of the step's result against the step in double precision. `error` is the largest
    difference, for whole numbers the count of differences. `limit` is the allowed error, `share`
    the worst used part of a limit."""

    name: str
    error: float
    limit: float
    share: float

    @property
    def right(self) -> bool:
        """Whether the error is within every limit."""
        return self.share <= 1


class Contender(NamedTuple):
    """A step and the attention that runs inside it."""

    step: Step
    context: Callable[[], ContextManager[Any]] = contextlib.nullcontext


@dataclasses.dataclass(frozen=True)
class Times:
    """Microseconds of a whole step by contender, a value a round. Each round times all contenders
    in random order. `mhz` is the GPU's clock in turns so long that each contender has its own."""

    rounds_us: Dict[str, List[float]]
    mhz: Dict[str, float] = dataclasses.field(default_factory=dict)

    @property
    def medians_us(self) -> Dict[str, float]:
        """The median microseconds by contender."""
        return {name: statistics.median(times) for name, times in self.rounds_us.items()}

    @property
    def best(self) -> str:
        """The fastest of the other contenders."""
        return min((name for name in self.rounds_us if name != OURS),
                   key=lambda name: self.medians_us[name])

    @property
    def rounds(self) -> int:
        """The number of rounds."""
        return len(self.rounds_us[OURS])

    @property
    def ratio(self) -> float:
        """The median over rounds of our time over the best of the others."""
        return statistics.median(self._ratios())

    @property
    def ci95(self) -> Tuple[float, float]:
        """The 95 % interval of the ratio, by bootstrap over rounds."""
        chance, ratios = random.Random(_SEED), self._ratios()
        medians = sorted(
            statistics.median(chance.choices(ratios, k=len(ratios))) for _ in range(_RESAMPLES))
        return medians[int(0.025 * _RESAMPLES)], medians[int(0.975 * _RESAMPLES)]

    @property
    def saved_us(self) -> float:
        """The median over rounds of the time saved against the best of the others."""
        return statistics.median(theirs - ours for ours, theirs in self._pairs())

    def _pairs(self) -> List[Tuple[float, float]]:
        return list(zip(self.rounds_us[OURS], self.rounds_us[self.best]))

    def _ratios(self) -> List[float]:
        return [ours / theirs for ours, theirs in self._pairs()]


def outputs_of(step: Step) -> Dict[str, torch.Tensor]:
    """Returns copies of the tensors that a step returns, by place. Random numbers begin alike each
    time."""
    with torch.random.fork_rng():
        torch.manual_seed(_SEED)
        leaves = pytree.tree_flatten_with_path(step())[0]
    return {pytree.keystr(path) or "output": leaf.detach().clone() for path, leaf in leaves
            if isinstance(leaf, torch.Tensor)}


def compare(step: Step, contender: Contender) -> List[Output]:
    """Compares each output's error with the errors of PyTorch's attention and of one that rounds
    after each step. An output that either run lacks is wrong. Runs the step five times."""
    with uncompiled(), exact.in_place_of_pytorchs(torch.float64):
        reference = outputs_of(step)
    with uncompiled(), exact.in_place_of_pytorchs(None):
        others = [outputs_of(step)]
    with fastpath.off():  # as with the kernels
        others += [outputs_of(step), outputs_of(step)]
    with contender.context():
        ours = outputs_of(contender.step)
    return [_judge(name, ours.get(name), reference.get(name), [other.get(name) for other in others])
            for name in {**reference, **ours}]


def _judge(name: str, ours: Any, reference: Any, others: Sequence[Any]) -> Output:
    tensors = [reference, *others]
    if ours is None or any(each is None or each.shape != ours.shape or each.dtype != ours.dtype
                           for each in tensors):
        return Output(name, math.inf, 0.0, math.inf)
    if not ours.is_floating_point():
        error, *apart = (float((each != reference).sum()) for each in (ours, *others))
        limit = _MOST * max(apart)
        return Output(name, error, limit,
                      0.0 if error == 0 else error / limit if limit else math.inf)
    if not torch.equal(ours.isfinite(), reference.isfinite()):
        return Output(name, math.inf, 0.0, math.inf)
    most, mean = _errors(ours, reference)
    allowed = [_errors(each, reference) for each in others]
    quantum = torch.finfo(ours.dtype).eps
    values = reference.double().nan_to_num(0.0, 0.0, 0.0).abs()
    limits = (_MOST * max(each[0] for each in allowed) +
              quantum * float(values.max() if values.numel() else 0),
              _MEAN * max(each[1] for each in allowed) +
              quantum * float(values.mean() if values.numel() else 0))
    shares = [error / limit if limit else (0.0 if error == 0 else math.inf)
              for error, limit in zip((most, mean), limits)]
    return Output(name, most, limits[0], max(shares))


def _errors(tensor: torch.Tensor, reference: torch.Tensor) -> Tuple[float, float]:
    """Returns the largest and the mean difference where both are finite."""
    if not tensor.numel():
        return 0.0, 0.0
    apart = (tensor.double() - reference.double()).abs()
    apart = apart.masked_fill(~reference.isfinite() & ~tensor.isfinite(), 0.0).nan_to_num(math.inf)
    return float(apart.max()), float(apart.mean())


def measure(contenders: Dict[str, Contender], clock: Clock, limit_s: float) -> Times:
    """Measures until there are 40 rounds, or at least 8 when the time is up."""
    end = time.monotonic() + limit_s
    for contender in contenders.values():  # what is compiled or loaded at first does not count
        _turn(contender, clock, 1)
    calls = max(1, math.ceil(_TURN_US / max(_turn(contenders[PYTORCH], clock, 1), 1.0)))
    rounds_us: Dict[str, List[float]] = {name: [] for name in contenders}
    chance, rounds = random.Random(_SEED), 0
    while rounds < _ROUNDS and (rounds < _LEAST_ROUNDS or time.monotonic() < end):
        for name in chance.sample(list(contenders), len(contenders)):
            rounds_us[name].append(_turn(contenders[name], clock, calls))
        rounds += 1
    return Times(rounds_us)


def _turn(contender: Contender, clock: Clock, calls: int) -> float:
    """Returns microseconds of a step after one warm-up call, which meets cold caches of Python."""
    with contender.context():
        contender.step()
        begin = clock.now()
        for _ in range(calls):
            contender.step()
        end = clock.now()
        return clock.us_between(begin, end) / calls
