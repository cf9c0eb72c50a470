"""answering.py: Answers tune_kernel with the configs and times of runs of fatune."""
from __future__ import annotations

import itertools
import json
import math
import time
from collections import Counter
from pathlib import Path
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple

from ..documents import note
from ..errors import USAGE, FatuneError
from ..program import output_of
from .arrays import Store
from .asking import Judges
from .calls import Call, block_names_of, parts_of
from .declaring import Declared, declare
from .launching import launch_of, launched

Result = Dict[str, Any]
_EVERY = (None, "brute_force")  # strategies that try each config
_USUAL_BUDGET = 100  # evaluations of other strategies; chosen
_REFUSED = {"texmem_args": "textures", "simulation_mode": "simulated times"}
_ELSEWHERE = "run the script with Kernel Tuner"


class Tuner:
    """A tuner stands in for Kernel Tuner while a script runs. Runs go to folders below `out`.

    `on_host` is Kernel Tuner's run_kernel, which runs functions in C; None: it is not installed.
    """

    def __init__(self, out: Path, budget: Optional[str], device: Optional[str]) -> None:
        self.out, self.budget, self.device = out, budget, device
        self.on_host: Optional[Callable[..., List[Any]]] = None
        self._store = Store()

    def tune_kernel(self, kernel_name: str, kernel_source: Any, problem_size: Any, arguments: Any,
                    tune_params: Mapping[str, Any], grid_div_x: Any = None, grid_div_y: Any = None,
                    grid_div_z: Any = None, restrictions: Any = None, answer: Any = None,
                    atol: Optional[float] = 1e-6, verify: Any = None, smem_args: Any = None,
                    cmem_args: Any = None, compiler_options: Any = None, defines: Any = None,
                    block_size_names: Any = None, quiet: bool = False, strategy: Any = None,
                    strategy_options: Any = None, metrics: Any = None, observers: Any = None,
                    cache: Any = None, **others: Any) -> Tuple[List[Result], Dict[str, Any]]:
        """Returns Kernel Tuner's list of results, with times in ms, and its environment."""
        _refuse(others)
        if cache:
            note("warning: the cache file is not read")
        judges = Judges(verify, _lookers(observers), answer, atol)
        call = Call(kernel_name, kernel_source, problem_size, arguments, tune_params,
                    (grid_div_x, grid_div_y, grid_div_z), restrictions,
                    None if judges else answer, atol, cmem_args or {}, smem_args,
                    block_names_of(block_size_names, tune_params),
                    [str(option) for option in compiler_options or ()], defines,
                    _folders(kernel_source))
        runs = [self._tune(part, judges, strategy, strategy_options or {}, quiet)
                for part in parts_of(call)]
        results = [result for found, _ in runs for result in found]
        _, folder = min(runs, key=lambda run: min(map(_time, run[0]), default=math.inf))
        for result in results:
            _add_metrics(result, metrics or {})
        if not quiet:
            _tell(call, results, folder, judges)
        return results, {"device_name": _device_of(folder / "run"), "fatune": str(folder)}

    def run_kernel(self, kernel_name: str, kernel_source: Any, problem_size: Any, arguments: Any,
                   params: Mapping[str, Any], grid_div_x: Any = None, grid_div_y: Any = None,
                   grid_div_z: Any = None, lang: Any = None, smem_args: Any = None,
                   cmem_args: Any = None, compiler_options: Any = None, defines: Any = None,
                   block_size_names: Any = None, **others: Any) -> List[Any]:
        """Returns the arguments after one launch, without a check."""
        if str(lang).upper() == "C" and self.on_host is not None:
            return self.on_host(kernel_name, kernel_source, problem_size, arguments, params,
                                lang=lang, compiler_options=compiler_options, defines=defines,
                                **others)
        _refuse({**others, "lang": lang})
        call = Call(kernel_name, kernel_source, problem_size, arguments, {},
                    (grid_div_x, grid_div_y, grid_div_z), constants=cmem_args or {},
                    shared=smem_args, block_names=block_names_of(block_size_names, params),
                    options=[str(option) for option in compiler_options or ()], defines=defines,
                    folders=_folders(kernel_source))
        return launch_of(call, params, self._folder(call), self.device, self._store)

    def _tune(self, call: Call, judges: Judges, strategy: Any, options: Any,
              quiet: bool) -> Tuple[List[Result], Path]:
        folder = self._folder(call)
        declared = declare(call, folder, self._store)
        words = self._search(declared, strategy, options)
        results = _run(call, folder / "run", words, _is_checked(declared, judges),
                       None if quiet else note)
        return judges.ask(results, lambda each: launched(declared, each, self.device)), folder

    def _folder(self, call: Call) -> Path:
        """Returns a folder that is not there yet."""
        names = (f"{call.name}-{number}" for number in itertools.count(1))
        return next(self.out / name for name in names if not (self.out / name).exists())

    def _search(self, declared: Declared, strategy: Any, options: Any) -> List[str]:
        words = ["sweep", *declared.words, "--kernel", declared.call.name, "--baselines", "none",
                 "--no-warm-start"]
        if self.device:
            words += ["--device", self.device]
        if self.budget:
            return [*words, "--budget", self.budget]
        if strategy in _EVERY:
            return [*words, "--strategy", "exhaustive"]
        return [*words, "--budget", str(options.get("max_fevals", _USUAL_BUDGET))]


def _refuse(others: Mapping[str, Any]) -> None:
    lang = others.get("lang")
    if lang is not None and str(lang).upper() not in ("CUDA", "CUPY", "NVCUDA"):
        raise FatuneError(f"lang={lang}: fatune tunes CUDA kernels alone; {_ELSEWHERE}", USAGE)
    for name, what in _REFUSED.items():
        if others.get(name):
            raise FatuneError(f"{name}: fatune has no {what}; {_ELSEWHERE}", USAGE)
    if others.get("objective", "time") != "time":
        note(f"warning: fatune ranks by time, not by {others['objective']}")


def _folders(source: Any) -> List[Path]:
    """Returns the folders in which a kernel's headers are looked for."""
    if callable(source) or "\n" in str(source):
        return [Path.cwd()]
    return [Path(str(source)).absolute().parent, Path.cwd()]


def _lookers(observers: Any) -> List[Any]:
    """Returns the observers that look at outputs, and says which are not called."""
    found = [each for each in observers or () if hasattr(each, "process_output")]
    if len(found) < len(observers or ()):
        note("warning: observers of launches are not called")
    return found


def _is_checked(declared: Declared, judges: Judges) -> bool:
    """Whether fatune compares outputs: not for functions of the script, nor with an answer of
    float16, whose bits alone could be compared."""
    half = [name for name, value in zip(declared.outputs, declared.call.arguments)
            if name and value.dtype == "float16"]
    if half and declared.call.answer is not None:
        note(f"warning: {', '.join(half)} is of float16, so the answer is not compared")
        return False
    return not judges


def _run(call: Call, run: Path, words: List[str], checked: bool,
         progress: Optional[Callable[[str], None]]) -> List[Result]:
    """Returns the results of a run, which say whether outputs `agrees`. Where configs leave other
    outputs than the default config, and the script has no answer, a second run times them
    unchecked."""
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
    return [{**result, "agrees": result.get("agrees", checked)}
            for result, outcome in outcomes if outcome == "measured"]


def _key(result: Result, call: Call) -> str:
    return json.dumps({name: result[name] for name in call.parameters})


def _outcomes(call: Call, run: Path) -> List[Tuple[Result, str]]:
    found = []
    for line in (run / "journal.jsonl").read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        if record.get("t") != "candidate":
            continue
        result: Result = {name: _as_given(values, record["config"].get(name, values[0]))
                          for name, values in call.space.items()}
        outcome, hot = record["outcome"], record.get("hot")
        if hot and outcome in ("measured", "pruned"):
            result["time"] = hot["median_us"] / 1000
            result.update(times=[result["time"]], **_costs(record.get("spent", {})))
        if hot and outcome == "pruned":  # after some samples; it is right, and far slower than the best
            result["given_up_after"], outcome = hot["samples"], "measured"
        found.append((result, outcome))
    return found


def _costs(spent: Mapping[str, Any]) -> Dict[str, Any]:
    """Returns what Kernel Tuner says of its own work, in ms, as far as the journal says it."""
    def milliseconds(name: str) -> float:
        return 1000 * float(spent.get(name, 0))
    return {"compile_time": milliseconds("compile_s"), "verification_time": milliseconds("verify_s"),
            "benchmark_time": milliseconds("timing_s"), "strategy_time": 0.0, "framework_time": 0.0,
            "timestamp": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime())}


def _time(result: Result) -> float:
    return float(result["time"])


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


def _tell(call: Call, results: List[Result], folder: Path, judges: Judges) -> None:
    if not results:
        print(f"{call.name}: no config is right ({folder})")
        return
    best = min(results, key=_time)
    config = ", ".join(f"{name}={best[name]}" for name in call.parameters)
    said = _verdict(call, results, best, judges)
    print(f"{call.name}: {config}, time={best['time']:.6g} ms. {said} ({folder})")


def _verdict(call: Call, results: Sequence[Result], best: Result, judges: Judges) -> str:
    """Returns what is known of outputs. A result that fatune compared says `agrees`."""
    if judges.verify is not None:
        right = sum(1 for each in results if each["verified"])
        return (f"The script's verify function accepts it, as it accepts {right} of {len(results)} "
                "configs")
    right = sum(1 for each in results if each["agrees"])
    yardstick = "the script's answer" if call.answer is not None else "the default config"
    agreed = "agrees" if best["agrees"] else "is not said to agree"
    return f"It {agreed} with {yardstick}, as {right} of {len(results)} configs do"
