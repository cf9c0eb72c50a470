"""recorder.py: Stands in for attention while a step runs and records each call."""
from __future__ import annotations

import contextlib
import dataclasses
import functools
import importlib
import re
import sys
import threading
import time
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Tuple

import torch
import torch.nn.functional as F

from . import block_masks, fastpath, masks, modules, places
from .calls import FLEX, Call, caller, describe

_FUNCTIONS = (
    ("torch.nn.functional", "scaled_dot_product_attention"),
    ("torch.nn.attention.flex_attention", "flex_attention"),
    *(("flash_attn", name)
      for name in ("flash_attn_func", "flash_attn_qkvpacked_func", "flash_attn_kvpacked_func",
                   "flash_attn_varlen_func", "flash_attn_with_kvcache")),
    ("flash_attn_interface", "flash_attn_func"))


def _functions() -> Iterator[Tuple[str, Callable[..., Any]]]:
    for module, name in _FUNCTIONS:
        try:
            found = getattr(importlib.import_module(module), name, None)
        except Exception:  # a library that is not there, or broken, is not called either
            continue
        if found is None:
            continue
        yield name, found
        if name == FLEX:
            yield from ((name, each) for each in block_masks.beside(found))


_NUMBER = re.compile(r"(?<![^.])\d+(?![^. ])")  # a part of a path
_CYCLES_PER_US = 2000  # chosen: of GPUs of today at their highest clock


class Clock:
    """Reads the time by CUDA events where there is a GPU, by wall time otherwise."""

    def __init__(self, device: str) -> None:
        self.by_events = device == "cuda"
        self.name = "CUDA events" if self.by_events else "wall time on the CPU"

    def now(self) -> Any:
        if not self.by_events:
            return time.perf_counter_ns()
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def hold(self, us: float) -> None:
        """Makes the device wait about this long, so that the CPU runs ahead of it."""
        if self.by_events:
            torch.cuda._sleep(int(us * _CYCLES_PER_US))

    def is_over(self, mark: Any) -> bool:
        """Whether the device has reached this mark: later work may have waited for the CPU."""
        return self.by_events and bool(mark.query())

    def us_between(self, begin: Any, end: Any) -> float:
        """Returns microseconds between two marks; waits for the device."""
        if not self.by_events:
            return (end - begin) / 1e3
        end.synchronize()
        return begin.elapsed_time(end) * 1e3


class Step:
    """A call of a module or function that can be repeated in the modes of its first call."""

    def __init__(self, function: Callable[..., Any], args: Tuple[Any, ...] = (),
                 options: Optional[Dict[str, Any]] = None) -> None:
        self.function, self.args, self.options = function, args, options or {}
        self.modes = (torch.is_grad_enabled(), torch.is_inference_mode_enabled())
        self.autocast = {kind: torch.get_autocast_dtype(kind) for kind in ("cuda", "cpu")
                         if torch.is_autocast_enabled(kind)}

    def __call__(self) -> Any:
        with contextlib.ExitStack() as stack:
            stack.enter_context(torch.inference_mode(self.modes[1]))
            stack.enter_context(torch.set_grad_enabled(self.modes[0]))
            for kind, dtype in self.autocast.items():
                stack.enter_context(torch.autocast(kind, dtype))
            return self.function(*self.args, **self.options)


class Recorder:
    """Keeps the calls that were made while `recording()` lasted."""

    def __init__(self, device: str, keep_steps: bool = False, keep_calls: bool = False) -> None:
        self.clock, self.keep_steps, self.keep_calls = Clock(device), keep_steps, keep_calls
        # The first call of each kind with its tensors, to be repeated.
        self.kept: Dict[Call, Step] = {}
        self.spans: List[Tuple[Call, Any, Any]] = []
        # Times, step and spans of each outermost module.
        self.outer: List[Tuple[Any, Any, Optional[Step], slice]] = []
        # Paths of the modules that made a call, with their numbers.
        self.modules: Dict[Call, Dict[str, None]] = {}
        self._lock, self._local = threading.Lock(), threading.local()
        self._paths = modules.Paths()

    @contextlib.contextmanager
    def recording(self) -> Iterator["Recorder"]:
        """Records inside the `with`. Compiled functions run uncompiled and layers without their
        fast path, so that their calls are seen."""
        found = {original: name for name, original in _functions()}
        pairs = [(original, self._stand_in(name, original)) for original, name in found.items()]
        pairs += [(create, block_masks.marking(create)) for create in block_masks.creators()]
        call_module = torch.nn.Module.__call__
        torch.nn.Module.__call__ = self._module_call(call_module)  # type: ignore[method-assign]
        for original, stand_in in pairs:
            places.replace(original, stand_in)
        try:
            with uncompiled(), fastpath.off():
                yield self
        finally:
            for original, stand_in in pairs:
                places.replace(stand_in, original)
            torch.nn.Module.__call__ = call_module  # type: ignore[method-assign]

    def calls(self) -> List[Tuple[Call, float]]:
        """Returns the calls in order with microseconds each."""
        return [(call, self.clock.us_between(begin, end)) for call, begin, end in self.spans]

    def _stack(self) -> List[torch.nn.Module]:
        if not hasattr(self._local, "stack"):
            self._local.stack, self._local.inside = [], False
        return self._local.stack

    def _stand_in(self, name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        def attention(*args: Any, **options: Any) -> Any:
            if torch.compiler.is_dynamo_compiling():  # what is compiled here calls PyTorch's own
                return original(*args, **options)
            stack = self._stack()
            if self._local.inside:
                return original(*args, **options)
            self._local.inside = True
            try:
                path = self._paths.of(stack)
                call = describe(name, args, options, caller(), _NUMBER.sub("*", path),
                                self._kind_of)
                self.modules.setdefault(call, {})[path] = None
                return self._run(call, functools.partial(passed_on, original, args, options))
            finally:
                self._local.inside = False

        attention.__name__ = name
        # A file that is imported meanwhile holds it.
        attention._recorded = original  # type: ignore[attr-defined]
        return attention

    def _kind_of(self, mask: torch.Tensor, seq_q: int, seq_kv: int) -> str:
        return masks.kind_of(mask, seq_q, seq_kv)

    def _run(self, call: Call, attend: Callable[[], Any]) -> Any:
        begin = self.clock.now()
        out = attend()
        span = (call, begin, self.clock.now())
        with self._lock:
            if self.keep_calls:
                self.kept.setdefault(call, Step(attend))
            self.spans.append(span)
        return out

    def _module_call(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def call(module: torch.nn.Module, *args: Any, **options: Any) -> Any:
            if torch.compiler.is_dynamo_compiling():
                return original(module, *args, **options)
            stack = self._stack()
            stack.append(module)
            outermost = len(stack) == 1
            before = len(self.spans)
            step = Step(module, args, options) if outermost and self.keep_steps else None
            begin = self.clock.now() if outermost else None
            try:
                out = original(module, *args, **options)
            finally:
                stack.pop()
            if outermost:
                with self._lock:
                    self.outer.append(
                        (begin, self.clock.now(), step, slice(before, len(self.spans))))
            return out

        return call


class Unread(NamedTuple):
    """A mask of a call in a graph and the lengths that it is for."""

    mask: torch.Tensor
    seq_q: int
    seq_kv: int


class Kept(NamedTuple):
    """A call in a graph that can be repeated, and its count."""

    attend: Step
    count: int


class GraphRecorder(Recorder):
    """Records a step that is captured in a CUDA graph: nothing is timed, masks are read after a
    replay.

    The first call of each kind is kept with its tensors. All masks are kept, because the graph
    would reuse their memory.
    """

    def __init__(self) -> None:
        super().__init__("cpu")
        self._unread: Dict[str, Unread] = {}
        self._kept: Dict[Call, Kept] = {}

    def calls_read(self) -> Dict[Call, Kept]:
        """Returns the calls in order; valid only after a replay."""
        kinds = {name: masks.kind_of(*unread) for name, unread in self._unread.items()}
        found: Dict[Call, Kept] = {}
        for call, kept in self._kept.items():
            modules = self.modules[call]
            if call.mask.kind in kinds:
                call = dataclasses.replace(call, mask=call.mask.named(kinds[call.mask.kind]))
            self.modules[call] = {**self.modules.get(call, {}), **modules}
            before = found.get(call, Kept(kept.attend, 0))
            found[call] = Kept(before.attend, before.count + kept.count)
        return found

    def _kind_of(self, mask: torch.Tensor, seq_q: int, seq_kv: int) -> str:
        """Returns a placeholder until the mask is read; layers share masks or views of one."""
        name = f"unread {(mask.data_ptr(), mask.shape, mask.stride(), mask.dtype, seq_q, seq_kv)}"
        self._unread[name] = Unread(mask, seq_q, seq_kv)
        return name

    def _run(self, call: Call, attend: Callable[[], Any]) -> Any:
        out = attend()
        with self._lock:
            before = self._kept.get(call) or Kept(Step(attend), 0)
            self._kept[call] = Kept(before.attend, before.count + 1)
        return out


def passed_on(original: Callable[..., Any], args: Tuple[Any, ...], options: Dict[str, Any]) -> Any:
    """Returns the original's result; a mask that is an object calls the original itself."""
    mask = args[3] if len(args) > 3 else options.get("attn_mask")
    if masks.bias_side(mask) is not None:  # it answers to what stands under F's name alone
        return type(mask).__torch_function__(F.scaled_dot_product_attention, (type(mask),), args,
                                             options)
    return original(*args, **options)


@contextlib.contextmanager
def uncompiled() -> Iterator[None]:
    """Runs compiled functions uncompiled inside the `with`, also those that are compiled there."""
    compiler = torch.compile

    def run_eagerly() -> None:
        # Importing torch._dynamo takes seconds; PyTorch 2.5 has no stance.
        if "torch._dynamo" in sys.modules and hasattr(torch.compiler, "set_stance"):
            stances.enter_context(torch.compiler.set_stance("force_eager"))

    def compile_eagerly(*args: Any, **options: Any) -> Any:
        compiled = compiler(*args, **options)
        run_eagerly()
        return compiled

    with contextlib.ExitStack() as stances:
        run_eagerly()
        torch.compile = compile_eagerly  # type: ignore[assignment]
        try:
            yield
        finally:
            torch.compile = compiler
