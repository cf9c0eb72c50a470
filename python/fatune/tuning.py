"""tuning.py: Runs or resumes `fatune sweep` for a suite."""
from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any, Dict, List, Optional, Tuple

import torch

from . import program
from .capturing import Suite
from .documents import LARGEST_FILE, check, load, parse_json, table, write_own
from .errors import ENVIRONMENT, NO, USAGE, FatuneError
from .progress import Progress

_TIME = {"median_us": float}
_FORM = {
    "fatune": str, "device": {"name": str}, "recorded": bool, "problems": [{
        "label?": str, "name?": str, "problem?": {}, "best?": {"kernel": str, "hot": _TIME, "in_layer?": _TIME},
        "baselines?": [{"impl": str, "in_layer?": _TIME}]}]}
"""The fields of a result that this package reads."""
# Exit codes of a finished sweep: whether the gate against the baselines passes is an answer, too.
_FASTER_OR_NOT = (0, 1)


class Result:
    """A finished run: its folder, its `document` (fatune.best/1) and the suite, if it was captured.
    """

    def __init__(self, folder: Path, document: Dict[str, Any],
                 suite: Optional[Suite] = None) -> None:
        self.folder, self.document, self.suite = folder, document, suite

    @classmethod
    def load(cls, folder: "str | Path") -> "Result":
        """Loads a run's folder. Raises FatuneError (4) where it holds no best.json of this version.
        """
        path, suite = Path(folder) / "best.json", suite_file(Path(folder))
        return cls(Path(folder), load(path, "fatune.best/1", _FORM, "sweep again"),
                   Suite.load(suite) if suite.exists() else None)

    @property
    def device(self) -> str:
        """The name of the GPU that was measured."""
        return str(self.document["device"]["name"])

    @property
    def recorded(self) -> bool:
        """Whether a recording stood in for the GPU."""
        return bool(self.document["recorded"])

    @property
    def problems(self) -> List[Dict[str, Any]]:
        """The problems of the document; `best` is null where no candidate was right."""
        return list(self.document["problems"])

    def saved_us(self, name: str) -> Optional[float]:
        """Microseconds in a layer that our kernel saves against PyTorch's fastest backend, for one
        problem. None where one of them was not measured."""
        row = next((row for row in self.problems if row.get("name") == name), {})
        times = [each["in_layer"]["median_us"] for each in row.get("baselines", ())
                 if each["impl"].startswith("torch:") and "in_layer" in each]
        best = row.get("best") or {}
        return min(times) - best["in_layer"]["median_us"] if times and "in_layer" in best else None

    def __str__(self) -> str:
        return "\n".join([self._title(), *(f"  {name}: {told}" for name, told in self._rows())])

    def __repr__(self) -> str:
        return f"<fatune.Result {self._title()}, problems: {len(self.problems)}>"

    def _repr_html_(self) -> str:
        return table(("problem", "fastest correct kernel"), self._rows(), self._title())

    def _title(self) -> str:
        return f"{self.folder}: {self.device}" + (", recorded" if self.recorded else "")

    def _rows(self) -> List[Tuple[str, str]]:
        return [(row.get("name") or row.get("label", "?"),
                 f"{row['best']['kernel']}, {row['best']['hot']['median_us']:.2f} us hot"
                 if row.get("best") else "no correct candidate") for row in self.problems]


def default_folder(suite: Suite) -> Path:
    """Returns runs/NAME-HASH below the current folder. The hash is of the problems without values
    of their tensors, so that the same suite resumes its run."""
    digest = hashlib.sha256(_problems_text(suite).encode()).hexdigest()
    return Path("runs") / f"{suite.name.replace('/', '-')}-{digest[:8]}"


def _problems_text(suite: Suite) -> str:
    return json.dumps([
        {**problem, "source": "",
         "tensors": [text.partition(":")[0] for text in problem.get("tensors", ())]}
        for problem in suite.problems], sort_keys=True)


def suite_file(folder: Path) -> Path:
    """Returns the path of the suite's file beside a run's folder."""
    return Path(f"{folder if folder.name.strip('.') else folder.resolve()}.suite.json")


def tune(suite: "Suite | str | Path", out: "str | Path | None" = None, device: Optional[str] = None,
         budget: "str | int | None" = None, baselines: Optional[str] = None,
         quiet: bool = False) -> Result:
    """Tunes the problems of a suite or of its file; options are those of `fatune sweep`.

    A folder that holds a run resumes it; nothing is measured twice. The problems and options must
    be those of the run. Known configs of earlier runs are tried first. The device is PyTorch's
    current one by default; "recorded" replays a recording.

    Raises FatuneError (1) if nothing is to be tuned, (2) if the run has another suite, budget or
    baselines. It raises (3) without a GPU, (5) if the run has another device, and as the program
    does. Ctrl-C ends the program, too; the folder can be resumed.
    """
    suite = suite if isinstance(suite, Suite) else Suite.load(suite)
    if not suite.problems:
        raise FatuneError(f"{suite.name}: nothing is to be tuned: {_reasons(suite)}", NO)
    folder = Path(out) if out is not None else default_folder(suite)
    options = {"device": device, "budget": budget, "baselines": baselines}
    if holds_run(folder):
        _check_plan(folder, suite, budget, baselines)
        document = _run(["resume", str(folder)], {"device": device}, quiet)
        _saved(suite, folder)
    else:
        options["device"] = device or _current_device()
        document = _run(["sweep", "--suite", str(_saved(suite, folder))],
                        {"out": folder, **options}, quiet)
    return Result(folder, document, suite)


def holds_run(folder: Path) -> bool:
    """Whether the folder holds a run."""
    return (folder / "journal.jsonl").exists()


def _check_plan(folder: Path, suite: Suite, budget: "str | int | None",
                baselines: Optional[str]) -> None:
    """Raises FatuneError (2) if the run began with other problems or options. The suite beside
    the run has all of a problem; the journal answers for a run without one."""
    began = suite_file(folder)
    if began.exists() and _problems_text(Suite.load(began)) != _problems_text(suite):
        raise FatuneError(f"{folder} is a run of other problems: those of {began}", USAGE)
    try:
        with (folder / "journal.jsonl").open(encoding="utf-8-sig") as journal:
            header = parse_json(journal.readline(LARGEST_FILE), str(folder))
        check(header, {"plan": {"problems": [{"name": str, "problem": {}}], "baselines": [str]}},
              str(folder))
    except (OSError, ValueError, FatuneError):
        return  # the program says what is wrong with the journal
    plan = header["plan"]
    pairs = [("the suite", [_shape_of(each["problem"]) for each in plan["problems"]],
              [f"{each['shape']} {each.get('dtype', 'f16')}" for each in suite.problems]),
             ("the suite", [each["name"] for each in plan["problems"]],
              [each["name"] for each in suite.problems])]
    if budget is not None:
        pairs.append(("--budget", _limit_of(plan), _limit_of(_parsed(str(budget)))))
    if baselines is not None:
        named = [] if baselines == "none" else baselines.split(",")
        pairs.append(("--baselines", plan["baselines"], named))
    for what, before, now in pairs:
        if before != now:
            raise FatuneError(f"{folder}: {what} is {_quoted(before)} in the journal and "
                              f"{_quoted(now)} here", USAGE)


def _quoted(value: "str | List[str]") -> str:
    return f"'{value if isinstance(value, str) else ', '.join(value)}'"


def _shape_of(problem: Dict[str, Any]) -> str:
    sizes = (problem.get(name) for name in ("batch", "heads", "seq_q", "head_dim"))
    return f"{','.join(map(str, sizes))} {problem.get('dtype')}"


def _parsed(budget: str) -> Dict[str, Any]:
    """A budget as a plan has it: "60s" and "5m" are times, other numbers are evaluations."""
    unit = {"s": 1.0, "m": 60.0}.get(budget[-1:])
    try:
        return ({"budget_seconds": float(budget[:-1]) * unit} if unit else
                {"budget_evaluations": int(budget)})
    except ValueError:
        return {"budget_evaluations": budget}


def _limit_of(plan: Dict[str, Any]) -> str:
    seconds = plan.get("budget_seconds")
    return f"{seconds:g} s" if seconds else f"{plan.get('budget_evaluations')} evaluations"


def _run(words: List[str], options: Dict[str, Any], quiet: bool) -> Dict[str, Any]:
    """Returns the document of a sweep; options that are None are left out."""
    told = [
        word for name, value in options.items() if value is not None
        for word in (f"--{name}", str(value))]
    progress = Progress()
    try:
        return program.run([*words, *told], accept=_FASTER_OR_NOT,
                           progress=None if quiet else progress)
    finally:
        progress.close()


def _reasons(suite: Suite) -> str:
    reasons = dict.fromkeys(call["reason"] for call in suite.calls)
    return "; ".join(reasons) if reasons else "no call of attention was seen"


def _saved(suite: Suite, folder: Path) -> Path:
    return write_own(suite_file(folder), suite.text())


def _current_device() -> str:
    if not torch.cuda.is_available() or torch.version.cuda is None:
        raise FatuneError(
            "PyTorch finds no NVIDIA GPU here to tune on; the device 'recorded' replays a "
            "recording", ENVIRONMENT)
    return f"cuda:{torch.cuda.current_device()}"
