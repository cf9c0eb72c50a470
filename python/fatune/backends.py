"""backends.py: Times PyTorch's backends for calls that no kernel serves, and runs the fastest."""
from __future__ import annotations

import contextlib
import copy
import functools
import warnings
from typing import Any, Callable, Dict, List, Optional, Tuple

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

from . import graphs, masks
from .calls import READERS, SERVED, Call, dtype_name, torch_name
from .proving import OURS, PYTORCH, Contender, Times, measure
from .recorder import Clock, Step

BACKENDS = {"flash": SDPBackend.FLASH_ATTENTION, "cudnn": SDPBackend.CUDNN_ATTENTION,
            "efficient": SDPBackend.EFFICIENT_ATTENTION}
_BY_CALL = {**BACKENDS, "math": SDPBackend.MATH}
_PLAIN = (torch.Tensor, torch.nn.Parameter)
_LIMIT_S = 1.0  # chosen: for the rounds of one call


def as_installed(call: Call, attend: Step) -> Step:
    """Returns a recorded call as install() makes it: without a mask tensor that says nothing."""
    assert call.query is not None and call.key is not None, "a call without q and k is not timed"
    flag = masks.as_flag(call.mask.kind, call.query.shape[-2], call.key.shape[-2])
    if call.mask.form != "tensor" or flag is None:
        return attend
    original, args, options = attend.function.args  # type: ignore[attr-defined]
    read = READERS[SERVED](*args, **options)
    found = copy.copy(attend)
    found.function = functools.partial(
        original, *read["tensors"], None, read["dropout"], flag, scale=read["scale"],
        enable_gqa=read["gqa"])
    return found


def times_of(attend: Callable[[], Any], clock: Clock) -> List[Dict[str, Any]]:
    """Returns `backend` and microseconds `us` of a call by PyTorch's own choice and by each backend
    that can do it, in interleaved rounds. `ratio_ci95` is the interval of a backend's time over
    that of PyTorch's choice. Empty for a call that no graph takes."""
    contenders, calls = {}, 1
    for name, backend in {PYTORCH: None, **_BY_CALL}.items():
        only = contextlib.nullcontext() if backend is None else sdpa_kernel(backend)
        # Each backend raises errors of its own for a call that it cannot do.
        with contextlib.suppress(Exception), warnings.catch_warnings(), only:
            warnings.simplefilter("ignore")  # PyTorch lists why each backend refuses the call
            graphs.warm_up(attend)
            calls = graphs.calls_in_one(attend, clock) if backend is None else calls
            contenders[name] = Contender(graphs.record_several(attend, calls))
    if PYTORCH not in contenders:
        return []
    seen = measure(contenders, clock, _LIMIT_S)
    times: List[Dict[str, Any]] = [
        {"backend": name, "us": us / calls} for name, us in seen.medians_us.items()]
    for each in times[1:]:
        pair = {PYTORCH: seen.rounds_us[PYTORCH], OURS: seen.rounds_us[each["backend"]]}
        each["ratio_ci95"] = list(Times(pair).ci95)
    return times


def fastest_of(row: Dict[str, Any]) -> Optional[str]:
    """Returns the fastest backend whose whole interval is below the time of PyTorch's own choice,
    for one of Suite.calls; None where none is or none was measured."""
    gains = [each for each in row.get("backends_us", ()) if each.get("ratio_ci95", (1, 1))[1] < 1]
    return str(min(gains, key=lambda each: each["us"])["backend"]) if gains else None


def words_of(row: Dict[str, Any]) -> str:
    """Returns what is printed behind the reason of a call where a backend is chosen, else ""."""
    best, times = fastest_of(row), _times_in(row)
    if best is None:
        return ""
    return f"; by PyTorch's {best}, {times[best]:.1f} us for {times[PYTORCH]:.1f} by its own choice"


def _times_in(row: Dict[str, Any]) -> Dict[str, float]:
    return {each["backend"]: each["us"] for each in row.get("backends_us", ())}


def by_fastest(pytorch: Callable[..., Any], rows: List[Dict[str, Any]]) -> Callable[..., Any]:
    """Returns PyTorch's attention with the fastest backend for calls like those of `rows`. A call
    whose strides the backend does not take goes to PyTorch's own choice, as does a traced call and
    one that wants gradients."""
    chosen = {_key_of_row(row): _BY_CALL[name] for row in rows if (name := fastest_of(row))}

    def attention(query: Any, key: Any, value: Any, attn_mask: Any = None, dropout_p: float = 0.0,
                  is_causal: bool = False, scale: Optional[float] = None,
                  enable_gqa: bool = False) -> Any:
        def attend() -> Any:
            return pytorch(query, key, value, attn_mask, dropout_p, is_causal, scale=scale,
                           enable_gqa=enable_gqa)

        tensors = (query, key, value)
        if (torch.compiler.is_compiling() or dropout_p
                or not all(type(each) in _PLAIN for each in tensors)
                or torch.is_grad_enabled() and any(each.requires_grad for each in tensors)):
            return attend()
        backend = chosen.get(_key_of(query, key, value, attn_mask, is_causal))
        if backend is not None:
            with contextlib.suppress(RuntimeError), sdpa_kernel(backend):
                return attend()
        return attend()

    return attention if chosen else pytorch


def _key_of_row(row: Dict[str, Any]) -> Tuple[Any, ...]:
    shapes = [tuple(row[name]["shape"]) for name in ("query", "key", "value")]
    mask, flag = row["mask"], masks.as_flag(row["mask"]["kind"], shapes[0][-2], shapes[1][-2])
    flag = True if mask["form"] == "flag" else flag
    told = (tuple(mask["shape"]), mask["dtype"]) if flag is None else None
    return *shapes, row["query"]["dtype"], told, bool(flag)


def _key_of(query: Any, key: Any, value: Any, mask: Any, is_causal: bool) -> Tuple[Any, ...]:
    dtype = query.dtype
    if torch.is_autocast_enabled(query.device.type):
        dtype = torch.get_autocast_dtype(query.device.type)
    told = None if mask is None else (tuple(mask.shape), torch_name(mask.dtype))
    return (tuple(query.shape), tuple(key.shape), tuple(value.shape), dtype_name(dtype), told,
            is_causal)
