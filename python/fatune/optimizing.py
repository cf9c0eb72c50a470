"""optimizing.py - a step captured, tuned, installed and proved: outputs compared, the whole step timed, a report."""
from __future__ import annotations

import argparse
import contextlib
import dataclasses
import json
import sys
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence

from . import page
from .calls import problem_of
from .capturing import Suite, capture, capture_script, device_of
from .errors import FILES, INTERRUPTED, NO, USAGE, FatuneError
from .installing import Installed, Why, install
from .proving import Output, Times, compare, measure
from .recorder import Clock, Recorder, Step
from .tuning import Result, tune

FASTER, EQUAL, SLOWER, WRONG, UNSERVED = "faster", "equal", "slower", "wrong", "unserved"
_SAID = {
    FASTER: "faster, and right",
    EQUAL: "right, but no faster: the interval includes 1",
    SLOWER: "right, but slower",
    WRONG: "wrong: an output is further off than rounding explains",
    UNSERVED: "not served: no call of the step was done by a kernel",
}
_LIMIT_S = 120.0  # of timing; chosen


@dataclasses.dataclass
class Proof:
    """What optimize() found. `installed` is None unless the kernels stand in PyTorch's place now."""

    suite: Suite
    result: Result
    verdict: str
    outputs: List[Output]
    times: Optional[Times]
    after: Suite
    why: Why
    installed: Optional[Installed]
    report: Path

    def undo(self) -> None:
        """Puts PyTorch's attention back, if kernels stand in its place."""
        if self.installed is not None:
            self.installed.undo()
            self.installed = None

    def to_json(self) -> Dict[str, Any]:
        """Everything that the report shows."""
        return {
            "schema": "fatune.proof/1", "name": self.suite.name, "device": self.result.device,
            "recorded": self.result.recorded, "run": str(self.result.folder), "verdict": self.verdict,
            "installed": self.installed is not None, "masks_assumed": self.why.assumed,
            "outputs": [{**dataclasses.asdict(each), "right": each.right} for each in self.outputs],
            "times": None if self.times is None else {**dataclasses.asdict(self.times), "ratio": self.times.ratio,
                                                      "ci95": self.times.ci95},
            "before": self.suite.document["capture"], "after": self.after.document["capture"],
            "problems": self.suite.problems,
            "calls": [row._asdict() for row in self.why.rows],
        }

    def __str__(self) -> str:
        lines = [f"{self.suite.name}: {_SAID[self.verdict]}"]
        if self.times is not None:
            low, high = self.times.ci95
            lines.append(f"  the step takes {self.times.ratio:.3f} of its time ({low:.3f} to {high:.3f}, "
                         f"{len(self.times.with_us)} rounds)")
        worst = max(self.outputs, key=lambda each: each.share, default=None)
        if worst is not None:
            lines.append(f"  worst of {len(self.outputs)} outputs: {worst.name} is off by {worst.error:.3g}, allowed "
                         f"{worst.limit:.3g}")
        lines.append("  " + str(self.why).replace("\n", "\n  "))
        lines.append("  the kernels are installed" if self.installed else "  nothing is installed")
        return "\n".join([*lines, f"  report: {self.report}"])


def optimize(step: Callable[..., Any], *inputs: Any, out: "str | Path | None" = None,
             report: "str | Path | None" = None, name: Optional[str] = None, budget: "str | int | None" = None,
             device: Optional[str] = None, assume_masks: Optional[str] = None, allow_equal: bool = False,
             unverified: bool = False, limit_s: float = _LIMIT_S, quiet: bool = False, **options: Any) -> Proof:
    """Captures, tunes, installs and proves `step(*inputs, **options)`, and writes a report.

    The report is RUN/report.html unless told. Each output is compared with the step's own, in the tolerance that its
    rounding has; the whole step is timed with and without in interleaved rounds, `limit_s` seconds at most. Kernels
    stay installed if outputs are right and the interval of the times' ratio is below 1 (or, with `allow_equal`,
    includes it); else nothing is. Interrupted, nothing is, and the same call goes on with tuning. Raises what
    capture(), tune() and install() raise.
    """
    suite = capture(step, *inputs, name=name, **options)
    result = tune(suite, out=out, device=device, budget=budget, quiet=quiet)

    with install(result, assume_masks=assume_masks, unverified=unverified) as installed:
        after = capture(step, *inputs, name=suite.name, **options)
        why = installed.why()

    def run() -> Any:
        return step(*inputs, **options)

    outputs, times, verdict = [], None, UNSERVED
    if why.served:
        outputs = compare(run, installed.briefly)
        verdict = WRONG
        if all(each.right for each in outputs):
            times = measure(run, installed.briefly, Clock(device_of(step, inputs, options)), limit_s)
            verdict = _verdict(times)
    wanted = verdict == FASTER or (verdict == EQUAL and allow_equal)
    page_file = Path(report or result.folder / "report.html")
    proof = Proof(suite, result, verdict, outputs, times, after, why, None, page_file)
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
    document = proof.to_json()
    for path, text in ((proof.report, page.page_of(document)),
                       (proof.result.folder / "proof.json", json.dumps(document, indent=1) + "\n")):
        try:
            path.write_text(text, encoding="utf-8")
        except OSError as error:
            raise FatuneError(f"{path} cannot be written: {error.strerror}", FILES) from error


def _step_of(script: Path, arguments: Sequence[str], function: Optional[str]) -> Callable[[], Any]:
    """The script's function of this name, `step` if it has one, else the call of an outermost module with most
    attention calls that can be tuned, the last of several. Raises FatuneError (2) where there is none."""
    _, recorder, names = capture_script(script, arguments, keep_steps=True)
    found = names.get(function or "step")
    if callable(found):
        return found
    if function is not None:
        raise FatuneError(f"{script} defines no function {function}()", USAGE)
    step = _most_attentive(recorder)
    if step is None:
        raise FatuneError(f"{script} calls no module with attention that can be tuned; define a function step() in it", NO)
    return step


def _most_attentive(recorder: Recorder) -> Optional[Step]:
    best, most = None, 0
    for _, _, step, spans in recorder.outer:
        calls = sum(problem_of(call)[0] is not None for call, *_ in recorder.spans[spans])
        if calls and calls >= most:
            best, most = step, calls
    return best


def main(argv: Sequence[str]) -> int:
    """`python -m fatune optimize SCRIPT ...`; the exit code: 0 for a proven gain (or, with --allow-equal, no loss)."""
    parser = argparse.ArgumentParser(prog="fatune optimize", description="Tunes a script's attention and proves it")
    parser.add_argument("--step", help="the script's function to optimize [step, or the module with most attention]")
    parser.add_argument("-o", "--out", type=Path, help="folder of the run [runs/SCRIPT-HASH]")
    parser.add_argument("--report", type=Path, help="the page [report.html in the run's folder]")
    parser.add_argument("--budget", help="for each problem, as of fatune sweep")
    parser.add_argument("--device", help="as of fatune sweep [PyTorch's current GPU]")
    parser.add_argument("--assume-masks", choices=["captured"], help="trust captured masks, unread")
    parser.add_argument("--allow-equal", action="store_true", help="no loss is enough")
    parser.add_argument("--unverified", action="store_true", help="also kernels that no gate has checked")
    parser.add_argument("--limit-s", type=float, default=_LIMIT_S, help=f"of timing [{_LIMIT_S:g}]")
    parser.add_argument("--json", action="store_true", help="print the proof as one document")
    parser.add_argument("script", type=Path)
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="of the script")
    args = parser.parse_args(argv)
    try:
        step = _step_of(args.script, args.arguments, args.step)
        proof = optimize(step, out=args.out, report=args.report, name=args.script.stem, budget=args.budget,
                         device=args.device, assume_masks=args.assume_masks, allow_equal=args.allow_equal,
                         unverified=args.unverified, limit_s=args.limit_s)
    except KeyboardInterrupt:
        print("fatune: interrupted; nothing is installed, and the same command goes on with tuning", file=sys.stderr)
        return INTERRUPTED
    good = proof.installed is not None
    proof.undo()
    if args.json:
        print(json.dumps(proof.to_json(), indent=1))
    else:
        print(f"{proof}\n  in a program: fatune.install({str(proof.result.folder)!r})" if good else proof)
    return 0 if good else NO
