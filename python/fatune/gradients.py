"""gradients.py - which kernels may serve calls that want gradients: with a backward pass of PyTorch behind them their
gradients must be right, and both passes together faster than PyTorch's own. Kept in the run's folder."""
from __future__ import annotations

import contextlib
import dataclasses
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any, Callable, Dict, Iterator, List

import torch
import torch.nn.functional as F

from . import places
from .calls import DTYPES
from .capturing import device_of
from .errors import FILES, FatuneError
from .proving import OURS, PYTORCH, Contender, Step, compare, measure
from .recorder import Clock

FILE = "gradients.json"
_FIELDS = {"kernel", "torch", "backward", "reason", "tried"}
_LIMIT_S = 1.0  # of timing a kernel with one backward pass; chosen
_SEED = 0
_PLACE: List[places.Place] = [(vars(F), "scaled_dot_product_attention")]

Facts = Dict[str, Any]
Row = Dict[str, Any]


def let_serve(exported: ModuleType, folder: Path) -> None:
    """Examines each kernel of the file that writes the log-sum-exp, or reads from `folder`/gradients.json what came of
    it with this PyTorch, and tells the file: its backward pass, or the reason why PyTorch does both passes. Raises
    FatuneError (4) where the file cannot be written."""
    known = {row["kernel"]: row for row in _read(folder / FILE) if row["torch"] == torch.__version__}
    rows = []
    for facts in exported._FACTS:
        if facts["problem"].get("lse"):
            row = known.get(facts["id"]) or _examined(exported, facts)
            exported.serve_gradients({facts["id"]: row["backward"] or row["reason"]})
            rows += [row] if any(each["outputs"] for each in row["tried"]) else []
    if any(row["kernel"] not in known for row in rows):
        _write(folder / FILE, rows)


def _examined(exported: ModuleType, facts: Facts) -> Row:
    print(f"fatune: gradients of {_name(facts)} are compared and timed", file=sys.stderr)
    tried = [_tried(exported, facts, name) for name in exported._BACKWARDS]
    good = [each for each in tried if each["reason"] is None]
    best = min(good or tried, key=lambda each: each["ratio"] or float("inf"))
    return {"kernel": facts["id"], "problem": facts["problem"], "torch": torch.__version__,
            "backward": best["backward"] if good else None, "reason": best["reason"], "tried": tried}


def _tried(exported: ModuleType, facts: Facts, name: str) -> Row:
    """With this backward pass; `reason` is None when gradients are right and both passes faster."""
    row: Row = {"backward": name, "reason": None, "outputs": [], "ratio": None, "ci95": None}
    exported.serve_gradients({facts["id"]: name})
    try:
        with torch.inference_mode(False), torch.enable_grad(), torch.autocast(_device(), enabled=False), \
                _under_f(exported._pytorch):  # whatever else is installed
            inputs, options = _inputs(facts), _options(facts)
            said = exported.explain(*inputs, **options)
            if said.startswith("PyTorch: "):
                return {**row, "reason": said}
            return {**row, **_compared(_step(inputs, options), lambda: _under_f(exported.sdpa))}
    except BaseException as error:  # files of a process share what serves: nothing unproven may stay
        exported.serve_gradients({facts["id"]: "its gradients were not compared"})
        if not isinstance(error, RuntimeError):  # RuntimeError: a head dim, a type or a device that it does not take
            raise
        return {**row, "reason": f"PyTorch's {name} backward pass says: {str(error).strip().partition(chr(10))[0]}"}


def _compared(step: Step, installed: Callable[[], Any]) -> Row:
    ours = Contender(step, installed)
    outputs = compare(step, ours)
    found: Row = {"outputs": [{**dataclasses.asdict(each), "right": each.right} for each in outputs]}
    worst = max(outputs, key=lambda each: each.share)
    if not worst.right:
        return {**found, "reason": f"{worst.name} is off by {worst.error:.3g}, allowed {worst.limit:.3g}"}
    times = measure({PYTORCH: Contender(step), OURS: ours}, Clock(_device()), _LIMIT_S)
    low, high = times.ci95
    slow = f"both passes take {times.ratio:.3f} ({low:.3f} to {high:.3f}) of the time of PyTorch's own"
    return {**found, "ratio": times.ratio, "ci95": times.ci95, "reason": None if high < 1 else slow}


def _step(inputs: List[torch.Tensor], options: Dict[str, Any]) -> Step:
    """Both passes; gives the output and the gradients of q, k and v."""
    grad = torch.empty_like(inputs[0]).normal_(generator=_chance())

    def step() -> Dict[str, torch.Tensor]:
        out = F.scaled_dot_product_attention(*inputs, **options)
        return {"out": out, **dict(zip(("dq", "dk", "dv"), torch.autograd.grad(out, inputs, grad)))}

    return step


def _device() -> str:
    return device_of(None, (), {})


def _chance() -> torch.Generator:
    return torch.Generator(_device()).manual_seed(_SEED)


def _inputs(facts: Facts) -> List[torch.Tensor]:
    """q, k and v as the kernel was tuned for, of normally distributed numbers."""
    problem, chance, made = facts["problem"], _chance(), []
    dtype = next(dtype for dtype, name in DTYPES.items() if name == problem["dtype"])
    for name, heads, rows in (("q", "heads", "seq_q"), ("k", "kv_heads", "seq_kv"), ("v", "kv_heads", "seq_kv")):
        shape = (problem["batch"], problem[heads], problem[rows], problem["head_dim"])
        memory = torch.empty_strided(shape, facts["strides"][name], dtype=dtype, device=_device())
        made.append(memory.normal_(generator=chance).requires_grad_())
    return made


def _options(facts: Facts) -> Dict[str, Any]:
    problem = facts["problem"]
    return {"is_causal": problem["mask"] == "causal", "scale": facts["scale"],
            "enable_gqa": problem["heads"] != problem["kv_heads"]}


def _name(facts: Facts) -> str:
    problem = facts["problem"]
    return ",".join(str(problem[size]) for size in ("batch", "heads", "seq_q", "head_dim"))


@contextlib.contextmanager
def _under_f(function: Callable[..., Any]) -> Iterator[None]:
    """Under F's name meanwhile, and nowhere else."""
    before = F.scaled_dot_product_attention
    places.put(_PLACE, function)
    try:
        yield
    finally:
        places.put(_PLACE, before)


def _read(file: Path) -> List[Row]:
    try:
        rows = json.loads(file.read_text(encoding="utf-8"))["kernels"]
        return [row for row in rows if _FIELDS <= row.keys()]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):  # there is none yet, or none that is whole
        return []


def _write(file: Path, rows: List[Row]) -> None:
    try:
        file.write_text(json.dumps({"schema": "fatune.gradients/1", "kernels": rows}, indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        raise FatuneError(f"{file} cannot be written: {error.strerror}", FILES) from error
