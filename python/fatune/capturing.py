"""capturing.py: Records the attention calls of a step as a suite."""
from __future__ import annotations

import argparse
import collections
import json
import shlex
import sys
import time
from pathlib import Path
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple

import torch

from . import backends, graphs
from .calls import SERVED, Call, name_of, problem_of
from .documents import load, table, write_text
from .errors import INTERRUPTED, NO, USAGE, FatuneError
from .recorder import Clock, GraphRecorder, Recorder, Step
from .scripts import printing, run_script

Times = Dict[Call, List[float]]  # microseconds of each time that it was called

_TENSOR = {"shape": [int], "dtype": str}
_FORM = {
    "name": str, "problems": [{"name": str, "shape": str}], "capture?": {
        "torch": str, "device": str, "clock": str, "step_us": float, "attention_share": float,
        "waits_for_python": bool, "calls": [{
            "function": str, "query?": _TENSOR, "key?": _TENSOR, "mask": {"kind": str, "form": str, "rule?": str, "untold?": str},
            "score?": str, "softcap?": float, "lse?": bool, "tensors?": [str],
            "gradients": bool, "site": str, "module": str, "paths?": [str], "problem?": str, "reason": str,
            "counts": [int], "us": float, "share": float, "differs": bool,
            "backends_us?": [{"backend": str, "us": float, "ratio_ci95?": [float]}]}]}}
"""The fields of a suite that this package reads."""

GRAPH_CLOCK = "CUDA graph, each call timed alone"
_RUNS = 2  # the second shows what differs between steps
_MOST_LAYERS = 8  # chosen: that are listed
_MOST_HELD_US = 200_000  # chosen


class Run(NamedTuple):
    """Observations of one run of a step. `waits`: times include waiting for Python. `modules` are
    the paths of a call's modules, `backends` the times of PyTorch's backends for it."""

    times: Times
    step_us: float
    modules: Dict[Call, Dict[str, None]]
    waits: bool = False
    backends: Dict[Call, List[Dict[str, Any]]] = {}


class Suite:
    """The attention calls of a step. `document` is JSON that `fatune sweep --suite` reads:
    `problems` are to be tuned, `capture.calls` are all calls. docs/pytorch.md lists the fields."""

    def __init__(self, document: Dict[str, Any]) -> None:
        self.document = document

    @property
    def name(self) -> str:
        return str(self.document["name"])

    @property
    def problems(self) -> List[Dict[str, Any]]:
        """The problems to tune, each once."""
        return list(self.document["problems"])

    @property
    def calls(self) -> List[Dict[str, Any]]:
        """All calls. `problem` is the name of one of `problems`, or null beside a `reason`."""
        return list(self.document.get("capture", {}).get("calls", []))

    @property
    def in_graph(self) -> bool:
        """Whether the step is captured in a CUDA graph."""
        return bool(self.document.get("capture", {}).get("graph"))

    def text(self) -> str:
        """Returns the document with a line for each problem and call."""
        rest = {
            key: value for key, value in self.document.items()
            if key not in ("problems", "capture")}
        seen = dict(self.document.get("capture", {}))
        calls = _lines(seen.pop("calls", []), "  ")
        capture = f'{json.dumps(seen)[:-1]}, "calls": {calls}}}'
        problems = _lines(self.problems, " ")
        return f'{json.dumps(rest)[:-1]},\n "problems": {problems},\n "capture": {capture}}}\n'

    def save(self, path: "str | Path") -> Path:
        """Writes the document. Raises FatuneError (4) where it cannot be written."""
        return write_text(Path(path), self.text())

    @classmethod
    def load(cls, path: "str | Path") -> "Suite":
        """Reads a file that save() wrote. Raises FatuneError (4) for any other file."""
        return cls(load(Path(path), "fatune.problems/1", _FORM, "name a suite"))

    def __str__(self) -> str:
        return text_of(self)

    def __repr__(self) -> str:
        return (f"<fatune.Suite {self.name}: {len(self.problems)} to tune, "
                f"{len(self.calls)} kinds of calls>")

    def _repr_html_(self) -> str:
        if not self.calls:
            return table(("problem", "shape"),
                         [(each["name"], each["shape"]) for each in self.problems], self.name)
        return table(("share", "calls", "attention", "place", "tuned as"), [
            (f"{row['share']:.1%}", row["counts"][-1], words_of(row),
             f"{row['site']} {row['module']}", row["problem"] or f"not tuned: {row['reason']}")
            for row in self.calls], self.name)


def _lines(rows: List[Dict[str, Any]], indent: str) -> str:
    lines = ",".join(f"\n{indent} {json.dumps(row)}" for row in rows)
    return f"[{lines}\n{indent}]" if rows else "[]"


def capture(step: Callable[..., Any], *inputs: Any, runs: int = _RUNS, name: Optional[str] = None,
            graph: bool = False, **options: Any) -> Suite:
    """Runs `step(*inputs, **options)`, a model or any function, and returns its attention calls.

    The last of `runs` runs is timed; calls that are not the same in all of them are marked. With
    `graph` the calls are those that the step makes while a CUDA graph is captured, in which its
    masks are read; each is timed alone. Gradients, autocast and compilation are as where this is
    called, but compiled code runs uncompiled, as it shows no calls otherwise. What the step raises
    passes; FatuneError (1) says why it cannot be captured, (2) that `step` cannot be called.
    """
    return captured(step, inputs, options, name, graph, runs)


def captured(step: Callable[..., Any], inputs: Sequence[Any], options: Dict[str, Any],
             name: Optional[str], graph: bool, runs: int = _RUNS,
             with_backends: bool = True) -> Suite:
    """Captures as capture() does. A step with kernels in place does not call PyTorch's backends
    itself; without `with_backends` they are not timed."""
    if not callable(step):
        raise FatuneError(f"the step is a {type(step).__name__}, which cannot be called: name a "
                          "model or a function, then its inputs", USAGE)
    device = device_of(step, inputs, options)

    def run() -> Any:
        return step(*inputs, **options)

    if graph:
        graphs.check(device)
        runs_seen = [_run_in_graph(run, Clock(device), with_backends)]
        return suite_of(runs_seen, name or _name_of(step), GRAPH_CLOCK, 1)
    seen: List[Run] = []
    for i in range(runs):
        timed = with_backends and device == "cuda" and i == runs - 1
        seen.append(_run(run, device, seen[-1].step_us if seen else 0.0, timed))
    return suite_of(seen, name or _name_of(step), Clock(device).name, 1)


def _run(step: Callable[[], Any], device: str, expected_us: float, with_backends: bool) -> Run:
    recorder = Recorder(device, keep_calls=with_backends)
    clock = recorder.clock
    with recorder.recording():
        clock.hold(min(expected_us, _MOST_HELD_US))
        begin = clock.now()
        step()
        end = clock.now()
        waits = clock.is_over(begin)
    by_backend = {call: _times_of_backends(call, kept, clock) for call, kept in recorder.kept.items()}
    return Run(_by_call(recorder), clock.us_between(begin, end), recorder.modules, waits, by_backend)


def _times_of_backends(call: Call, attend: Step, clock: Clock) -> List[Dict[str, Any]]:
    """Returns the times of PyTorch's backends for a call that no kernel serves and a backend could.
    """
    if (call.function != SERVED or not call.query or call.gradients or call.dropout
            or problem_of(call)[0]):
        return []
    return backends.times_of(backends.as_installed(call, attend), clock)


def _run_in_graph(step: Callable[[], Any], clock: Clock, with_backends: bool) -> Run:
    graphs.warm_up(step)
    recorder = GraphRecorder()
    with recorder.recording():
        replay = graphs.record(step)
    step_us = graphs.us_of(replay, clock)
    times, by_backend = {}, {}
    for call, kept in recorder.calls_read().items():
        times[call] = [graphs.us_alone(kept.attend, clock)] * kept.count
        if with_backends:
            by_backend[call] = _times_of_backends(call, kept.attend, clock)
    return Run(times, step_us, recorder.modules, backends=by_backend)


def device_of(step: Any, inputs: Sequence[Any], options: Dict[str, Any]) -> str:
    """Returns "cuda" if any input or parameter lies on a GPU, or if none is seen and a GPU is
    there."""
    tensors = [each for each in (*inputs, *options.values()) if isinstance(each, torch.Tensor)]
    if isinstance(step, torch.nn.Module):
        tensors += list(step.parameters())
    if not tensors:
        return "cuda" if torch.cuda.is_available() else "cpu"
    return "cuda" if any(each.is_cuda for each in tensors) else "cpu"


def _name_of(step: Any) -> str:
    name = type(step).__name__ if isinstance(step, torch.nn.Module) else getattr(
        step, "__name__", "step")
    return name if name.isidentifier() else "step"


def _by_call(recorder: Recorder) -> Times:
    times: Times = collections.defaultdict(list)
    for call, us in recorder.calls():
        times[call].append(us)
    return times


def suite_of(runs: Sequence[Run], name: str, clock: str, steps: int) -> Suite:
    """Makes a suite of runs of one step. Shares are of the last run that had the call."""
    problems: List[Dict[str, Any]] = []
    rows = [
        _row(call, runs, problems)
        for call in dict.fromkeys(call for run in runs for call in run.times)]
    rows.sort(key=lambda row: -row["us"])
    for problem in problems:
        sites = dict.fromkeys(f"{row['site']} {row['module']}".strip() for row in rows
                              if row["problem"] == problem["name"])
        problem["source"] = "captured: " + "; ".join(sites)
    document = {
        "schema": "fatune.problems/1", "name": name, "summary": f"Attention of {name}, as captured",
        "problems": problems, "capture": {
            "torch": torch.__version__, "device": _device_name(), "clock": clock, "runs": len(runs),
            "steps": steps, "step_us": runs[-1].step_us, "graph": clock == GRAPH_CLOCK,
            "waits_for_python": runs[-1].waits,
            "attention_share": sum(row["share"] for row in rows), "calls": rows}}
    return Suite(json.loads(json.dumps(document)))  # lists, as in a file


def _device_name() -> str:
    return torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu"


def _row(call: Call, runs: Sequence[Run], problems: List[Dict[str, Any]]) -> Dict[str, Any]:
    last = next(run for run in reversed(runs) if call in run.times)
    entry, reason = problem_of(call)
    us = sum(last.times[call])
    return {
        **call.to_json(), "module": _module_of(call, runs),
        # Modules of one call site may have masks of one shape and several kinds.
        "paths": _paths_of(call, runs) if call.mask.form == "tensor" else [],
        "problem": None if entry is None else _named(entry, problems),
        "backends_us": last.backends.get(call, []), "reason": reason,
        "counts": [len(run.times.get(call, ())) for run in runs], "us": us,
        "share": us / last.step_us if last.step_us else 0.0,
        "differs": len({len(run.times.get(call, ())) for run in runs}) > 1}


def _paths_of(call: Call, runs: Sequence[Run]) -> List[str]:
    """Returns the paths of the modules that made a call, each once."""
    return list(dict.fromkeys(path for run in runs for path in run.modules.get(call, ())))


def _module_of(call: Call, runs: Sequence[Run]) -> str:
    """Returns the module's path; with the numbers of layers where another call has other layers."""
    alike = {each: _paths_of(each, runs) for run in runs for each in run.times
             if (each.site, each.module) == (call.site, call.module)}
    own = alike[call]
    if all(paths == own for paths in alike.values()):
        return call.module
    shown, kind = [path.partition(" ")[0] for path in own], call.module.partition(" ")[2]
    more = f" and {len(own) - _MOST_LAYERS} more" if len(own) > _MOST_LAYERS else ""
    return f"{', '.join(shown[:_MOST_LAYERS])}{more} {kind}"


def _named(entry: Dict[str, Any], problems: List[Dict[str, Any]]) -> str:
    """Returns the name of a problem, which is added to `problems` if it is new."""
    for known in problems:
        if {key: value for key, value in known.items() if key != "name"} == entry:
            return str(known["name"])
    base, taken = name_of(entry), {known["name"] for known in problems}
    names = (base, *(f"{base}-{i}" for i in range(2, len(taken) + 3)))
    name = next(each for each in names if each not in taken)
    problems.append({"name": name, **entry})
    return name


def capture_script(script: Path, arguments: Sequence[str] = (), runs: int = 1,
                   keep_steps: bool = False) -> Tuple[Suite, Recorder, Dict[str, Any]]:
    """Runs a script and returns its suite, the last recorder and the script's globals. Steps are
    calls of outermost modules; a script without them is one step. Raises as run_script()."""
    seen = []
    for _ in range(runs):
        recorder = Recorder("cuda" if torch.cuda.is_available() else "cpu", keep_steps)
        with recorder.recording():
            begin = time.perf_counter_ns()
            names = run_script(script, arguments)
            whole_us = (time.perf_counter_ns() - begin) / 1e3
        steps = [recorder.clock.us_between(begin, end) for begin, end, *_ in recorder.outer]
        seen.append(Run(_by_call(recorder), sum(steps) or whole_us, recorder.modules,
                        recorder.clock.by_events))
    return suite_of(seen, script.stem, recorder.clock.name, len(steps) or 1), recorder, names


def step_of(script: Path, arguments: Sequence[str], function: Optional[str]) -> Callable[[], Any]:
    """Returns the step of a script: the named function, else `step`, else an outermost module. That
    module is the last one with most attention calls that can be tuned. Raises FatuneError (2) where
    there is none."""
    _, recorder, names = capture_script(script, arguments, keep_steps=True)
    found = names.get(function or "step")
    if callable(found):
        return found
    if function is not None:
        raise FatuneError(f"{script} defines no function {function}()", USAGE)
    step = _most_attentive(recorder)
    if step is None:
        raise FatuneError(
            f"{script} calls no module with attention that can be tuned; define a function step() "
            "in it", NO)
    return step


def _most_attentive(recorder: Recorder) -> Optional[Step]:
    best, most = None, 0
    for _, _, step, spans in recorder.outer:
        calls = sum(problem_of(call)[0] is not None for call, *_ in recorder.spans[spans])
        if calls and calls >= most:
            best, most = step, calls
    return best


def words_of(row: Dict[str, Any]) -> str:
    """Describes one of Suite.calls: "4,8,512,64 f16, causal (a tensor)"."""
    if row["query"] is None:
        return row["function"]
    query, key = row["query"], row["key"]
    shape = ",".join(map(str, query["shape"]))
    if len(key["shape"]) == 4 and key["shape"][1:3] != query["shape"][1:3]:
        shape += f" with {key['shape'][1]} heads of {key['shape'][2]} keys"
    mask = row["mask"]["kind"].replace("_", " ")
    told = " (a tensor)" if row["mask"]["form"] == "tensor" else ""
    changes = [f"score {row['score']}" if row.get("score") else "",
               f"softcap {row['softcap']:g}" if row.get("softcap") else "",
               "with its log-sum-exp" if row.get("lse") else ""]
    return (f"{shape} {query['dtype']}" + (f", {mask}{told}" if mask != "none" or told else "")
            + "".join(f", {each}" for each in changes if each) + (", with gradients" if row["gradients"] else ""))


def text_of(suite: Suite) -> str:
    """Returns the suite as lines for a terminal."""
    kept = suite.document.get("capture")
    if kept is None:
        return "\n".join([f"{suite.name}: not captured here", *(
            f"  {problem['name']}: {problem['shape']}" for problem in suite.problems)])
    kinds = f"{len(suite.calls)} kind{'s' if len(suite.calls) != 1 else ''}"
    share, ms = f"{kept['attention_share']:.0%}", f"{kept['step_us'] / 1e3:.2f} ms"
    waits = ", which includes waiting for Python" if kept["waits_for_python"] else ""
    lines = [
        f"{suite.name}: {kinds} of attention calls, {share} of {ms}{waits} ({kept['clock']}; "
        f"{kept['device']}, PyTorch {kept['torch']})"]
    for row in suite.calls:
        lines.append(f"  {row['share']:6.1%}  {row['counts'][-1]:4} x  {words_of(row)}")
        lines.append(f"                  {row['site']} {row['module']}".rstrip())
        lines.append(f"                  tuned as {row['problem']}" if row["problem"] else
                     f"                  not tuned: {row['reason']}{backends.words_of(row)}")
        if row["problem"] and row["mask"].get("untold"):
            lines.append(f"                  install() leaves it as it is: {row['mask']['untold']}")
        if row["differs"]:
            counts = ", ".join(map(str, row["counts"]))
            lines.append(f"                  differs between runs: {counts} times")
    if not suite.calls:
        lines.append("  no call of attention was seen")
    return "\n".join(lines)


def main(args: argparse.Namespace) -> int:
    """Runs `python -m fatune capture SCRIPT`. Returns 1 when the script failed or has nothing to
    tune."""
    try:
        with printing(document=args.json):
            if args.graph:
                suite = capture(step_of(args.script, args.arguments, args.step),
                                name=args.script.stem, graph=True)
            else:
                suite = capture_script(args.script, args.arguments, max(args.runs, 1))[0]
    except KeyboardInterrupt:
        print("fatune: interrupted; nothing was written", file=sys.stderr)
        return INTERRUPTED
    path = suite.save(args.out or Path(f"{args.script.stem}.suite.json"))
    found = f"{suite}\n\n{path}" + (f": fatune sweep --suite {shlex.quote(str(path))}" if suite.problems else "")
    print(suite.text() if args.json else found)
    return 0 if suite.problems else NO
