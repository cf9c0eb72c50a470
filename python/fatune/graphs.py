"""graphs.py: Captures a step in a CUDA graph and times its replays."""
from __future__ import annotations

import statistics
from typing import Any, Callable

import torch

from .errors import ENVIRONMENT, NO, FatuneError
from .recorder import Clock

_WARM_UPS = 3  # as PyTorch's notes on CUDA graphs have it
_REPLAYS = 5  # chosen
_MOST_CALLS, _LONG_US = 20, 2000  # chosen: of one call alone


class Replay:
    """A captured step. A call replays it and returns the step's result in the same tensors each
    time."""

    def __init__(self, graph: torch.cuda.CUDAGraph, output: Any) -> None:
        self.graph, self.output = graph, output

    def __call__(self) -> Any:
        self.graph.replay()
        return self.output


def check(device: str) -> None:
    """Raises FatuneError (3) for a step that does not run on a GPU."""
    if device != "cuda":
        raise FatuneError("a CUDA graph needs a step on an NVIDIA GPU, and this one is on the CPU",
                          ENVIRONMENT)


def warm_up(step: Callable[[], Any]) -> None:
    """Runs the step on a stream of its own, so that libraries settle before a capture."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(_WARM_UPS):
            step()
    torch.cuda.current_stream().wait_stream(stream)


def record(step: Callable[[], Any]) -> Replay:
    """Captures the step. Raises FatuneError (1) with PyTorch's reason where that fails."""
    graph, reason = torch.cuda.CUDAGraph(), None
    try:
        # A capture that fails at its end leaves its stream as the current one: the outer block does
        # not.
        with torch.cuda.stream(torch.cuda.current_stream()), torch.cuda.graph(graph):
            try:
                output = step()
            except Exception as error:  # the end of the capture may fail as well, and say less
                reason = error
                raise
    except Exception as error:
        raise FatuneError(
            f"the step cannot be captured in a CUDA graph: {words_of(reason or error)}",
            NO) from error
    return Replay(graph, output)


def words_of(error: BaseException) -> str:
    """Returns the first line of an error."""
    lines = str(error).strip().splitlines()
    return lines[0].rstrip(".") if lines else type(error).__name__


def us_of(replay: Callable[[], Any], clock: Clock) -> float:
    """Returns microseconds of a replay: the median of five after a warm-up."""
    replay()
    marks = [clock.now()]
    for _ in range(_REPLAYS):
        replay()
        marks.append(clock.now())
    return statistics.median(clock.us_between(*pair) for pair in zip(marks, marks[1:]))


def calls_in_one(call: Callable[[], Any], clock: Clock) -> int:
    """Returns how many such calls a graph should have that times one: up to 20."""
    return max(1, min(_MOST_CALLS, int(_LONG_US / max(us_of(record(call), clock), 1.0))))


def record_several(call: Callable[[], Any], calls: int) -> Replay:
    """Captures as many calls in one graph. Raises as record()."""
    def all_of_them() -> None:
        for _ in range(calls):
            call()

    return record(all_of_them)


def us_alone(call: Callable[[], Any], clock: Clock) -> float:
    """Returns microseconds of a call in a graph of up to 20 such calls."""
    calls = calls_in_one(call, clock)
    return us_of(record_several(call, calls), clock) / calls
