"""answering.py: Answers tune_kernel with the configs and times of a run of fatune."""
from __future__ import annotations

import itertools
import json
import os
import time
from collections import Counter
from pathlib import Path
from typing import Any, Callable, Dict, List, Mapping, Optional, Tuple

from ..documents import note
from ..errors import USAGE, FatuneError
from ..program import output_of
from .declaring import BLOCK_NAMES, Call, declare

Result = Dict[str, Any]
_EVERY = (None, "brute_force")  # strategies that try each config
_USUAL_BUDGET = 100  # evaluations of other strategies; chosen
_USUAL_OPTIONS = ("-O3", "-std=", "--std=")  # of compilers, without an effect on what is tuned
_REFUSED = {"texmem_args": "textures", "defines": "macros of its own choice",
            "simulation_mode": "simulated times"}
_UNCALLED = {"observers": "observers are not called", "verify": "verify is not called, so outputs "
             "are not checked", "cache": "the cache file is not read"}


class Tuner:
    """A tuner stands in for Kernel Tuner while a script runs. Runs go to folders below `out`."""

    def __init__(self, out: Path, budget: Optional[str], device: Optional[str]) -> None:
        self.out, self.budget, self.device = out, budget, device

    def tune_kernel(self, kernel_name: str, kernel_source: Any, problem_size: Any, arguments: Any,
                    tune_params: Mapping[str, Any], grid_div_x: Any = None, grid_div_y: Any = None,
                    grid_div_z: Any = None, restrictions: Any = None, answer: Any = None,
                    atol: Optional[float] = 1e-6, smem_args: Any = None,
                    cmem_args: Any = None, compiler_options: Any = None,
                    block_size_names: Any = None, quiet: bool = False, strategy: Any = None,
                    strategy_options: Any = None, metrics: Any = None,
                    **others: Any) -> Tuple[List[Result], Dict[str, Any]]:
        """Returns Kernel Tuner's list of results, with times in ms, and its environment."""
        _refuse(others, compiler_options)
        checked = others.get("verify") is None
        call = Call(kernel_name, _text(kernel_source), problem_size, arguments, tune_params,
                    (grid_div_x, grid_div_y, grid_div_z), restrictions,
                    answer if checked else None, atol, cmem_args or {}, smem_args,
                    [*(block_size_names or ()), *BLOCK_NAMES[len(block_size_names or ()):]])
        folder = self._folder(call)
        declare(call, folder)
        words = self._search(call, folder, strategy, strategy_options or {})
        progress = None if quiet else note
        results = _run(call, folder / "run", words, checked, progress)
        for result in results:
            _add_metrics(result, metrics or {})
        if not quiet:
            _tell(call, results, folder, checked)
        return results, {"device_name": _device_of(folder / "run"), "fatune": str(folder)}

    def _folder(self, call: Call) -> Path:
        """Returns a folder that is not there yet."""
        names = (f"{call.name}-{number}" for number in itertools.count(1))
        return next(self.out / name for name in names if not (self.out / name).exists())

    def _search(self, call: Call, folder: Path, strategy: Any, options: Any) -> List[str]:
        words = ["sweep", "--kernel-dir", str(folder), "--kernel", call.name, "--size",
                 "kernel_tuner=1", "--baselines", "none", "--no-warm-start"]
        if self.device:
            words += ["--device", self.device]
        if self.budget:
            return [*words, "--budget", self.budget]
        if strategy in _EVERY:
            return [*words, "--strategy", "exhaustive"]
        return [*words, "--budget", str(options.get("max_fevals", _USUAL_BUDGET))]


def _refuse(others: Mapping[str, Any], compiler_options: Any) -> None:
    for name, what in _REFUSED.items():
        if others.get(name):
            raise FatuneError(f"{name}: fatune has no {what}; run the script with Kernel Tuner",
                              USAGE)
    lang = others.get("lang")
    if lang is not None and str(lang).upper() not in ("CUDA", "CUPY", "NVCUDA"):
        raise FatuneError(f"lang={lang}: fatune compiles CUDA alone", USAGE)
    for option in compiler_options or ():
        if not str(option).startswith(_USUAL_OPTIONS):
            raise FatuneError(f"compiler_options: fatune does not pass {option}", USAGE)
    for name, words in _UNCALLED.items():
        if others.get(name):
            note(f"warning: {words}")


def _text(source: Any) -> str:
    """Returns a kernel's text, of a file or as it stands."""
    if not isinstance(source, (str, os.PathLike)):
        raise FatuneError("the kernel's source is made by a function; a text or a file is known",
                          USAGE)
    text = os.fspath(source)
    if "\n" not in text and "{" not in text and Path(text).is_file():
        return Path(text).read_text(encoding="utf-8")
    return text


def _run(call: Call, run: Path, words: List[str], checked: bool,
         progress: Optional[Callable[[str], None]]) -> List[Result]:
    """Returns the results of a run. Where configs leave other outputs than the default config, and
    the script has no answer, a second run times them unchecked."""
    own = call.answer is None
    if not checked:
        words = [*words, "--skip-correctness"]
    output_of([*words, "--out", str(run)], accept=(0, 1), progress=progress)
    outcomes = _outcomes(call, run)
    wrong = sum(1 for _, outcome in outcomes if outcome == "wrong_result")
    if wrong and own and checked:
        note(f"warning: {wrong} of {len(outcomes)} configs leave other outputs than the "
             "default config; they are timed without a check, and 'agrees' says so")
        again = run.with_name("unchecked")
        output_of([*words, "--skip-correctness", "--out", str(again)], accept=(0, 1),
                  progress=progress)
        agreeing = {_key(result, call) for result, outcome in outcomes if outcome == "measured"}
        outcomes = [({**result, "agrees": _key(result, call) in agreeing}, outcome)
                    for result, outcome in _outcomes(call, again)]
    others = Counter(outcome for _, outcome in outcomes if outcome != "measured")
    if others and progress:
        progress("without a time: " + ", ".join(f"{many} {name}" for name, many in others.items()))
    return [result for result, outcome in outcomes if outcome == "measured"]


def _key(result: Result, call: Call) -> str:
    return json.dumps({name: result[name] for name in call.parameters})


def _outcomes(call: Call, run: Path) -> List[Tuple[Result, str]]:
    found = []
    for line in (run / "journal.jsonl").read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        if record.get("t") != "candidate":
            continue
        result: Result = {name: _as_given(values, record["config"][name])
                          for name, values in call.parameters.items()}
        if record["outcome"] == "measured":
            result["time"] = record["hot"]["median_us"] / 1000
            result.update(times=[result["time"]], **_costs(record.get("spent", {})))
        found.append((result, record["outcome"]))
    return found


def _costs(spent: Mapping[str, Any]) -> Dict[str, Any]:
    """Returns what Kernel Tuner says of its own work, in ms, as far as the journal says it."""
    def milliseconds(name: str) -> float:
        return 1000 * float(spent.get(name, 0))
    return {"compile_time": milliseconds("compile_s"), "verification_time": milliseconds("verify_s"),
            "benchmark_time": milliseconds("timing_s"), "strategy_time": 0.0, "framework_time": 0.0,
            "timestamp": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime())}


def _as_given(values: Any, found: Any) -> Any:
    return next((value for value in values if value == found), found)


def _add_metrics(result: Result, metrics: Mapping[str, Any]) -> None:
    for name, metric in metrics.items():
        try:
            result[name] = metric(result) if callable(metric) else eval(metric, {}, dict(result))
        except (KeyError, NameError):
            continue  # it is of what an observer sees


def _device_of(run: Path) -> str:
    found = json.loads((run / "best.json").read_text(encoding="utf-8"))
    return str(found.get("device", {}).get("name", ""))


def _tell(call: Call, results: List[Result], folder: Path, checked: bool) -> None:
    if not results:
        print(f"{call.name}: no config is right ({folder})")
        return
    best = min(results, key=lambda each: float(each["time"]))
    config = ", ".join(f"{name}={best[name]}" for name in call.parameters)
    right = sum(1 for each in results if each.get("agrees", True)) if checked else 0
    yardstick = "the script's answer" if call.answer is not None else "the default config"
    agreed = "agrees" if checked and best.get("agrees", True) else "is not said to agree"
    print(f"{call.name}: {config}, time={best['time']:.6g} ms. It {agreed} with {yardstick}, as "
          f"{right} of {len(results)} configs do ({folder})")
