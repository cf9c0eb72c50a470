"""optimizing.py: Captures, tunes, installs and proves a step, and writes a report."""
from __future__ import annotations

import argparse
import contextlib
import dataclasses
import json
import math
import sys
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence

from . import contending, program
from .calls import SERVED
from .capturing import Suite, capture, captured, device_of, step_of
from .documents import without_link, write_own
from .errors import INTERRUPTED, NO, FatuneError
from .gpu_clock import sensor_of
from .installing import CAPTURED, Installed, Why, install
from .proving import OURS, PYTORCH, Contender, Output, Times, compare, measure, outputs_of
from .options import BASELINES, LIMIT_S
from .recorder import Clock
from .scripts import printing
from .sustained import measure_sustained
from .tuning import Result, default_folder, holds_run, tune

FASTER, EQUAL, SLOWER, WRONG, UNSERVED = "faster", "equal", "slower", "wrong", "unserved"
_SAID = {
    FASTER: "faster, and right",
    EQUAL: "right, but no faster: the interval includes 1",
    SLOWER: "right, but slower",
    WRONG: "wrong: an output is further off than rounding explains",
    UNSERVED: "not served: no call of the step was done by a kernel",
}


@dataclasses.dataclass(frozen=True)
class Saving:
    """Microseconds saved in a step, measured against PyTorch's best and predicted from times in a
    layer. Both are at one clock for all. `predicted_us` is None where a call has no time in a
    layer. `sustained_us` is the saving at the power limit, None where the limit has no effect."""

    measured_us: float
    predicted_us: Optional[float]
    sustained_us: Optional[float] = None

    @property
    def share(self) -> Optional[float]:
        """The measured over the predicted saving, where one is predicted."""
        if not self.predicted_us or self.predicted_us <= 0:
            return None
        return self.measured_us / self.predicted_us

    def __str__(self) -> str:
        text, left = f"saving: measured {self.measured_us:.0f} us", ""
        if self.sustained_us is not None:
            left = f"; sustained at the power limit {self.sustained_us:.0f} us"
        if self.predicted_us is None:
            return f"{text}; none is predicted, as a call has no time in a layer{left}"
        share = "" if self.share is None else f", {self.share:.2f} of it"
        return f"{text}, predicted {self.predicted_us:.0f} us{share}{left}"


@dataclasses.dataclass
class Proof:
    """The result of optimize(). `failed` gives the reason for each PyTorch backend that did not
    take part. `installed` is None unless the kernels are in place. `sustained` counts where the GPU
    is at its power limit."""

    suite: Suite
    result: Result
    verdict: str
    outputs: List[Output]
    times: Optional[Times]
    failed: Dict[str, str]
    after: Suite
    why: Why
    installed: Optional[Installed]
    report: Path
    sustained: Optional[Times] = None
    unverified: List[str] = dataclasses.field(default_factory=list)
    """Ids of kernels that no gate has checked."""

    def undo(self) -> None:
        """Puts PyTorch's attention back, if kernels stand in its place."""
        if self.installed is not None:
            self.installed.undo()
            self.installed = None

    @property
    def saving(self) -> Optional[Saving]:
        """The saving; None where nothing was timed."""
        if self.times is None:
            return None
        kernels = {row.get("name") for row in self.result.problems if row.get("best")}
        rows = [row for row in self.suite.calls if row["problem"] in kernels and (
            row["function"] == SERVED or row.get("mask", {}).get("rule") is not None)]
        # Baselines say nothing of the time of flex_attention, which a kernel replaces.
        saved = [(self.result.saved_us(row["problem"]) if row["function"] == SERVED else None,
                  row["counts"][-1]) for row in rows]
        known = [us * count for us, count in saved if us is not None]
        return Saving(self.times.saved_us, sum(known) if len(known) == len(saved) else None,
                      None if self.sustained is None else self.sustained.saved_us)

    def to_json(self) -> Dict[str, Any]:
        """Returns the document (fatune.proof/1) with everything that the report shows."""
        saving = self.saving
        return {
            "schema": "fatune.proof/1", "fatune": self.result.document["fatune"],
            "recorded": self.result.recorded, "device": self.result.document["device"],
            "name": self.suite.name, "run": str(self.result.folder), "verdict": self.verdict,
            "installed": self.installed is not None, "masks_assumed": self.why.assumed,
            "unverified": self.unverified, "outputs": [_output_json(each) for each in self.outputs],
            "times": None if self.times is None else _times_json(self.times), "failed": self.failed,
            "sustained": None if self.sustained is None else {
                **_times_json(self.sustained), "mhz": self.sustained.mhz},
            "saving": None if saving is None else {
                **dataclasses.asdict(saving), "share": saving.share},
            "before": self.suite.document["capture"], "after": self.after.document["capture"],
            "problems": self.suite.problems, "calls": [row._asdict() for row in self.why.rows]}

    def __str__(self) -> str:
        lines = [f"{self.suite.name}: {_SAID[self.verdict]}", *self._lines_of_times()]
        if self.result.recorded:
            lines.append("  tuned on a recording: its times were measured earlier")
        if self.unverified:
            lines.append(f"  no gate has checked {', '.join(self.unverified)}")
        worst = max(self.outputs, key=lambda each: each.share, default=None)
        if worst is not None:
            lines.append(f"  worst of {len(self.outputs)} outputs: {worst.name} is off by "
                         f"{worst.error:.3g}, allowed {worst.limit:.3g}")
        lines.append("  " + str(self.why).replace("\n", "\n  "))
        lines.append("  the kernels are installed" if self.installed else "  nothing is installed")
        return "\n".join([*lines, f"  report: {self.report}"])

    def _lines_of_times(self) -> List[str]:
        if self.times is None:
            return []
        low, high = self.times.ci95
        than = f" by {self.times.best}, PyTorch's best" if self.suite.in_graph else ""
        lines = [
            f"  the step takes {self.times.ratio:.3f} of its time{than} ({low:.3f} to {high:.3f}, "
            f"{self.times.rounds} rounds)"]
        if self.suite.in_graph:
            lines.append("  in a CUDA graph: " + ", ".join(
                f"{name} {us / 1e3:.3f} ms" for name, us in self.times.medians_us.items()))
        if self.sustained is not None:
            lines.append(f"  {_sustained_text(self.sustained)}")
        lines += [f"  {name} does not do it: {reason}" for name, reason in self.failed.items()]
        return [*lines, f"  {self.saving}"]


def _sustained_text(times: Times) -> str:
    low, high = times.ci95
    return (
        f"at the GPU's power limit, sustained: {times.ratio:.3f} of its time ({low:.3f} to "
        f"{high:.3f}), with a clock of {times.mhz[OURS]:.0f} MHz and by {times.best} "
        f"{times.mhz[times.best]:.0f}")


def _output_json(output: Output) -> Dict[str, Any]:
    """Returns an output for JSON, which has no infinity: null means that values cannot be compared.
    """
    values = {
        name: None if value == math.inf else value
        for name, value in dataclasses.asdict(output).items()}
    return {**values, "right": output.right}


def _times_json(times: Times) -> Dict[str, Any]:
    return {
        "rounds_us": times.rounds_us, "medians_us": times.medians_us, "best": times.best,
        "ratio": times.ratio, "ci95": times.ci95}


def optimize(step: Callable[..., Any], *inputs: Any, out: "str | Path | None" = None,
             report: "str | Path | None" = None, name: Optional[str] = None,
             budget: "str | int | None" = None, baselines: Optional[str] = None,
             device: Optional[str] = None, graph: bool = False, assume_masks: Optional[str] = None,
             allow_equal: bool = False, unverified: bool = False, limit_s: float = LIMIT_S,
             quiet: bool = False, **options: Any) -> Proof:
    """Captures, tunes, installs and proves `step(*inputs, **options)`, and writes a report.

    With `graph` the program replays the step as a CUDA graph: calls and masks are those of a
    capture, and graphs are timed against the best of PyTorch's backends.

    The report is RUN/report.html unless `report` names another file. Each output is compared with
    the step's own within the tolerance of its rounding. The step is timed with and without kernels
    in interleaved rounds, at most `limit_s` seconds. A GPU at its power limit is timed 10 s more in
    long turns, which then count.

    Kernels stay installed if outputs are right and the interval of the ratio is below 1;
    `allow_equal` allows an interval that includes 1. An interrupted call installs nothing and can
    be repeated, which resumes tuning. Raises as capture(), tune() and install() do, and FatuneError
    (1) where the step returns no tensor.
    """
    def run() -> Any:
        return step(*inputs, **options)

    suite = capture(step, *inputs, name=name, graph=graph, **options)
    if not outputs_of(run):
        raise FatuneError(
            "the step returns no tensor, so nothing could be compared; return what it computes", NO)
    folder = Path(out or default_folder(suite))
    if baselines is None and not holds_run(folder):
        baselines = BASELINES
    result = tune(suite, out=folder, device=device, budget=budget, baselines=baselines, quiet=quiet)

    with install(result, assume_masks=CAPTURED if graph else assume_masks,
                 unverified=unverified) as installed:
        after = captured(step, inputs, options, suite.name, graph, with_backends=False)
        ours = contending.replayed(run, installed) if graph else Contender(run, installed.briefly)
        why = installed.why()
        unverified_ids = sorted(facts["id"] for facts in installed.exported._FACTS
                                if not facts["verified"])

    outputs, times, sustained, verdict = [], None, None, UNSERVED
    failed: Dict[str, str] = {}
    if why.served:
        outputs = compare(run, ours)
        verdict = WRONG
        if all(each.right for each in outputs):
            others, failed = {PYTORCH: Contender(run)}, {}
            if graph:
                others, failed = contending.replayed_by_pytorch(run, suite)
            contenders, kind = {**others, OURS: ours}, device_of(step, inputs, options)
            clock = Clock(kind)
            times = measure(contenders, clock, limit_s)
            sustained = measure_sustained(contenders, times, clock, sensor_of(kind))
            verdict = _verdict(sustained or times)
    wanted = verdict == FASTER or (verdict == EQUAL and allow_equal)
    page_file = Path(report or without_link(result.folder / "report.html"))
    proof = Proof(suite, result, verdict, outputs, times, failed, after, why, None, page_file,
                  sustained, unverified_ids)
    with _undone_when_interrupted(proof):
        proof.installed = installed.redo() if wanted else None
        _write(proof)
    return proof


def _verdict(times: Times) -> str:
    low, high = times.ci95
    return FASTER if high < 1 else SLOWER if low > 1 else EQUAL


@contextlib.contextmanager
def _undone_when_interrupted(proof: Proof) -> Iterator[None]:
    try:
        yield
    except BaseException:
        proof.undo()
        raise


def _write(proof: Proof) -> None:
    path = write_own(proof.result.folder / "proof.json",
                     json.dumps(proof.to_json(), indent=1) + "\n")
    program.output_of(["report", str(path), "--format", "html", "--out", str(proof.report)])


def main(args: argparse.Namespace) -> int:
    """Runs `python -m fatune optimize SCRIPT`. Returns 0 for a proven gain or, with --allow-equal,
    no loss."""
    try:
        with printing(document=args.json):
            step = step_of(args.script, args.arguments, args.step)
            told = {name: value for name, value in vars(args).items()
                    if name not in ("script", "arguments", "step", "json")}
            proof = optimize(step, name=args.script.stem, **told)
    except KeyboardInterrupt:
        print("fatune: interrupted; nothing is installed, and the same command goes on with tuning",
              file=sys.stderr)
        return INTERRUPTED
    good = proof.installed is not None
    proof.undo()
    if args.json:
        print(json.dumps(proof.to_json(), indent=1))
    else:
        print(f"{proof}\n  in a program: fatune.install({str(proof.result.folder)!r})"
              if good else proof)
    return 0 if good else NO
