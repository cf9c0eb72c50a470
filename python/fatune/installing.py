"""installing.py: Puts kernels under F.scaled_dot_product_attention and counts their calls."""
from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import sys
import threading
from pathlib import Path
from types import ModuleType
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence, Set, Tuple

import torch
import torch.nn.functional as F

from . import backends, fastpath, masks, modules, places, program
from .calls import why_not_mask
from .capturing import Suite, words_of
from .documents import without_link
from .errors import DEVICE, ENVIRONMENT, FILES, NO, USAGE, FatuneError
from .flex_serving import Flex
from .recorder import passed_on
from .tuning import Result

_OLDEST = (2, 5)  # PyTorch: of the exported file
CAPTURED = "captured"
_UNCAPTURED = "no mask tensor was captured for these sizes"
_LEARNED = "gradients of its mask are wanted"
_UNCHECKED = (
    "its mask cannot be read while a graph is captured or traced; assume_masks=\"captured\" trusts "
    "those captured")
_SEVERAL = "masks of several kinds were captured for these sizes, and its module does not tell which"


class Row(NamedTuple):
    """Calls of one kind; `reason` is None where a kernel did them."""

    call: str
    reason: Optional[str]
    calls: int


class Why:
    """The calls since kernels were installed, served and not."""

    def __init__(self, rows: List[Row], assumed: bool, backends_of: Sequence[str] = ()) -> None:
        self.rows, self.assumed = sorted(rows, key=lambda row: -row.calls), assumed
        self.backends_of = list(backends_of)
        """Calls without a kernel for which a backend of PyTorch is chosen, in words."""

    @property
    def served(self) -> int:
        """Calls that a kernel did."""
        return sum(row.calls for row in self.rows if row.reason is None)

    @property
    def unserved(self) -> int:
        """Calls that PyTorch did."""
        return sum(row.calls for row in self.rows if row.reason is not None)

    def __str__(self) -> str:
        lines = [f"{self.served} calls by fatune's kernels, {self.unserved} by PyTorch"]
        lines += [f"  {row.calls:6} x  {row.call}: {row.reason or 'a kernel'}" for row in self.rows]
        lines += [f"  {told}" for told in self.backends_of]
        if self.assumed:
            lines.append(
                "  masks were taken to be those captured, unread (assume_masks=\"captured\")")
        return "\n".join(lines)


class _Masks:
    """Kinds of mask tensors, for calls like those captured with a mask of a problem. `readings` of
    an exported file remembers masks that were read; its `service` knows what kernels read."""

    def __init__(self, suite: Optional[Suite], assume: bool, readings: Any = None,
                 service: Any = None) -> None:
        self.assume, self.readings, self.service = assume, readings, service
        self.paths = modules.Paths()
        # The modules that called with each kind, by the shapes of q and k.
        self.kinds: Dict[Tuple[Tuple[int, ...], Tuple[int, ...]], Dict[str, Set[str]]] = {}
        for call in suite.calls if suite else ():
            if call["mask"]["form"] == "tensor" and call["query"]:
                place = (tuple(call["query"]["shape"]), tuple(call["key"]["shape"]))
                paths = self.kinds.setdefault(place, {}).setdefault(call["mask"]["kind"], set())
                paths.update(call.get("paths", ()))

    def kind(self, mask: torch.Tensor, query: torch.Tensor,
             key: torch.Tensor) -> Tuple[Optional[str], str]:
        """Returns the kind of a mask, or None and the reason why it is unknown."""
        kinds = self.kinds.get((query.shape, key.shape))
        if kinds is None:
            return None, _UNCAPTURED
        if masks.is_learned(mask):
            return None, _LEARNED
        if self.assume and len(kinds) == 1:
            return next(iter(kinds)), ""
        if torch.compiler.is_compiling():
            return None, _SEVERAL if self.assume else _UNCHECKED
        sizes = (query.shape[-2], key.shape[-2])
        if masks.is_being_captured(mask):
            return self._unread(mask, sizes, kinds) if self.assume else (None, _UNCHECKED)
        if self._is_idle(kinds, sizes):
            return masks.BIAS, ""
        return (self.readings or masks.kind_of)(mask, *sizes), ""

    def _is_idle(self, kinds: Dict[str, Set[str]], sizes: Tuple[int, int]) -> bool:
        """Whether reading a mask would choose nothing: all that were captured are of no kind that
        kernels have by name, and a kernel takes any tensor. Masks of batches differ, so that each
        new one would wait for the GPU. Where a kind with a name was captured, too, the wait pays:
        its kernel leaves hidden blocks out."""
        return (self.service is not None and sizes in self.service.table.biases
                and not any(masks.is_of_problems(kind) for kind in kinds))

    def _unread(self, mask: torch.Tensor, sizes: Tuple[int, int],
                kinds: Dict[str, Set[str]]) -> Tuple[Optional[str], str]:
        """Returns which of several captured kinds a mask has, without reading it: the kind that it
        had before the capture, or the one with which the calling module was captured."""
        read = self.readings.before(mask, *sizes) if self.readings else None
        if read is not None:
            return read, ""
        path = self.paths.of(modules.being_called())
        found = [kind for kind, paths in kinds.items() if path and path in paths]
        return (found[0], "") if len(found) == 1 else (None, _SEVERAL)


def without_idle_masks(pytorch: Callable[..., Any], suite: Suite) -> Callable[..., Any]:
    """Returns PyTorch's attention with is_causal in place of captured masks that it can say."""
    known, plain = _Masks(suite, True), (torch.Tensor, torch.nn.Parameter)

    def attention(query: Any, key: Any, value: Any, attn_mask: Any = None, dropout_p: float = 0.0,
                  is_causal: bool = False, scale: Optional[float] = None,
                  enable_gqa: bool = False) -> Any:
        if type(attn_mask) in plain and not is_causal:
            kind, _ = known.kind(attn_mask, query, key)
            flag = masks.as_flag(kind or masks.OTHER, query.shape[-2], key.shape[-2])
            if flag is not None:
                attn_mask, is_causal = None, flag
        return passed_on(pytorch, (query, key, value, attn_mask, dropout_p, is_causal),
                         {"scale": scale, "enable_gqa": enable_gqa})

    return attention


def _attention(exported: ModuleType,
               kind_of: Callable[..., Tuple[Optional[str], str]]) -> Callable[..., Any]:
    """Returns the function that replaces F's: the exported one, with mask tensors read first."""
    sdpa, pass_on, plain = exported.sdpa, exported._pass_on, (torch.Tensor, torch.nn.Parameter)
    unmasked, is_compiling = exported._operator, torch.compiler.is_compiling
    takes_bias = exported._takes_bias

    def scaled_dot_product_attention(query: Any, key: Any, value: Any, attn_mask: Any = None,
                                     dropout_p: float = 0.0, is_causal: bool = False,
                                     scale: Optional[float] = None,
                                     enable_gqa: bool = False) -> Any:
        if attn_mask is None and not dropout_p and not is_compiling():  # most calls
            return unmasked(query, key, value, is_causal, scale, enable_gqa)
        if attn_mask is None or type(attn_mask) not in plain or is_causal or dropout_p:
            return sdpa(query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa)
        kind, why = kind_of(attn_mask, query, key)
        sizes = (query.shape[-2], key.shape[-2])
        reason = why if kind is None else why_not_mask(kind, *sizes)
        if (kind is None or reason) and why != _LEARNED and takes_bias(attn_mask, query, key):
            # A kernel that adds the tensor to scores is right whatever its values are.
            if is_compiling():
                return torch.ops.fatune.sdpa(query, key, value, False, scale, enable_gqa, True,
                                             None, attn_mask)
            return unmasked(query, key, value, False, scale, enable_gqa, None, attn_mask)
        if kind is None or reason:
            return pass_on(reason, query, key, value, attn_mask, dropout_p, is_causal, scale,
                           enable_gqa)
        flag = masks.as_flag(kind, *sizes)
        if flag is not None:
            return sdpa(query, key, value, None, 0.0, flag, scale, enable_gqa)
        if is_compiling():
            return torch.ops.fatune.sdpa(query, key, value, False, scale, enable_gqa, True, kind)
        return unmasked(query, key, value, False, scale, enable_gqa, kind, attn_mask)

    return scaled_dot_product_attention


Original = Optional[Callable[..., Any]]

_lock = threading.RLock()
_active: List["Installed"] = []
_meanwhile: List["Installed"] = []  # in place for a turn of a comparison
_last: Optional["Installed"] = None


class Installed:
    """Kernels in place of PyTorch's attention until undo() or the end of a `with`. install() makes
    it."""

    def __init__(self, exported: ModuleType, suite: Optional[Suite], assume: bool,
                 problems: List[Dict[str, Any]]) -> None:
        self.exported, self.assumed = exported, assume
        self.masks = _Masks(suite, assume, exported._Readings(masks.kind_of), exported._service)
        self.flex = Flex(exported, suite, problems)
        self.function = _attention(exported, self._mask_kind)
        # The stand-in of each function; the key None is F's attention, found when it is replaced.
        self.stand_ins: Dict[Original, Callable[..., Any]] = {
            None: self.function, **self.flex.stand_ins()}
        self._backends_of = [
            f"{words_of(row)}{told}" for row in (suite.calls if suite else ())
            if (told := backends.words_of(row))]
        self._before = self._counted()
        self._after: Optional[List[Row]] = None
        self._places: Dict[Original, List[places.Place]] = {}
        self.hidden = suite is not None and fastpath.hides(suite.calls)  # of a layer's fast path

    def redo(self) -> "Installed":
        """Puts the kernels in place again after undo(); counts go on."""
        global _original, _last
        with _lock:
            if self not in _active:
                if not _active:
                    _original = F.scaled_dot_product_attention
                for original, stand_in in self.stand_ins.items():
                    places.replace(_in_place_of(original), stand_in)
                _active.append(self)
                self._after, _last = None, self
                self._choose_kernels()
                _choose_fast_path()
        return self

    def undo(self) -> None:
        """Puts PyTorch's attention back and withdraws the kernels. Functions that are still held
        and compiled code lose them, too; captured graphs keep them. A second call does nothing."""
        with _lock:
            if self not in _active:
                return
            self._after = self._rows()
            shown = {original: stand_in for original, stand_in in self.stand_ins.items()
                     if _in_place_of(original) is stand_in}
            _active.remove(self)
            for original, stand_in in shown.items():
                places.replace(stand_in, _in_place_of(original))
            self._choose_kernels()
            _choose_fast_path()

    @contextlib.contextmanager
    def briefly(self) -> Iterator[None]:
        """Puts the kernels in place inside the `with`, where they were found the first time, for
        turns of a comparison."""
        with _lock:
            before = {original: F.scaled_dot_product_attention if original is None else
                      _in_place_of(original) for original in self.stand_ins}
            self._places = self._places or {
                original: places.find(function) for original, function in before.items()}
            for original, stand_in in self.stand_ins.items():
                places.put(self._places[original], stand_in)
            _meanwhile.append(self)
            self._choose_kernels()
        try:
            with fastpath.off(self.hidden):
                yield
        finally:
            with _lock:
                for original, function in before.items():
                    places.put(self._places[original], function)
                _meanwhile.remove(self)
                self._choose_kernels()

    def recount(self) -> None:
        """Resets the counts."""
        self._before = self._counted()

    def why(self) -> Why:
        """Returns the calls since install(), or until undo()."""
        return Why(self._rows() if self._after is None else self._after, self.assumed,
                   self._backends_of)

    def _choose_kernels(self) -> None:
        """Lets the kernels of all active installations serve, and no others."""
        self.exported._service.serve([
            kernel for each in (*_active, *_meanwhile) for kernel in each.exported._own])
        self.flex.put(self in _active or self in _meanwhile)

    def _mask_kind(self, mask: torch.Tensor, query: torch.Tensor,
                   key: torch.Tensor) -> Tuple[Optional[str], str]:
        """Returns the kind of a mask by the captured masks of all active installations, its own
        first."""
        found = self.masks.kind(mask, query, key)
        for each in reversed(_active):
            if found[1] != _UNCAPTURED:
                break
            found = each.masks.kind(mask, query, key)
        return found

    def _counted(self) -> Dict[Tuple[str, Optional[str]], int]:
        return {(row["call"], row["reason"]): row["calls"] for row in self.exported.counts()}

    def _rows(self) -> List[Row]:
        rows = [
            Row(*kind, calls - self._before.get(kind, 0))
            for kind, calls in self._counted().items()]
        return [row for row in rows if row.calls]

    def __enter__(self) -> "Installed":
        return self

    def __exit__(self, *_: object) -> None:
        self.undo()


_original: Callable[..., Any] = F.scaled_dot_product_attention


def _in_place_of(original: Original) -> Callable[..., Any]:
    """Returns what stands in for a function of PyTorch, or the function; None is F's attention."""
    shown = [each.stand_ins[original] for each in _active if original in each.stand_ins]
    return shown[-1] if shown else original or _original


_fast_path = contextlib.ExitStack()  # off while one of those in place needs it


def _choose_fast_path() -> None:
    _fast_path.close()
    if any(each.hidden for each in _active):
        _fast_path.enter_context(fastpath.off())


def install(result: "Result | str | Path", assume_masks: Optional[str] = None,
            unverified: bool = False) -> Installed:
    """Puts the kernels of a run or its folder under F.scaled_dot_product_attention, process-wide.

    PyTorch serves calls that no kernel fits, and every call whose gradients are wanted. If the
    suite was captured in a graph, calls without a kernel run by the fastest of PyTorch's backends.
    A call with a mask tensor is served if a mask of its sizes was captured and the tensor's values
    are the mask of a kernel. A kernel tuned with a bias takes any mask tensor of its sizes, type and strides,
    unread. With assume_masks="captured" the captured kind is trusted instead, as
    graph capture and torch.compile need. Where several kinds were captured for the same sizes, a
    graph's call has the kind of its module, and torch.compile's is PyTorch's. `unverified` also takes kernels that no gate has checked.

    Raises FatuneError (1) if the run has no kernel, (2) for another word, (3) without a GPU or with
    an old PyTorch. It raises (4) if a file cannot be written, (5) if the run is of another GPU.
    """
    if assume_masks not in (None, CAPTURED):
        raise FatuneError(f"assume_masks is {assume_masks!r}; it may be None or {CAPTURED!r}",
                          USAGE)
    result = result if isinstance(result, Result) else Result.load(result)
    _check_here(result)
    exported = _imported(export(result, unverified))
    if result.suite is not None:
        vars(exported)["_pytorch"] = backends.by_fastest(vars(exported)["_pytorch"],
                                                         result.suite.calls)
    installed = Installed(exported, result.suite, assume_masks == CAPTURED, result.problems)
    return installed.redo()


def why() -> Why:
    """Returns the calls since kernels were last installed. Raises FatuneError (2) when they never
    were."""
    if _last is None:
        raise FatuneError("no kernels were installed yet", USAGE)
    return _last.why()


def export(result: Result, unverified: bool = False) -> Path:
    """Writes the run's kernels as sdpa.py into its folder."""
    if not any(row.get("best") for row in result.problems):
        raise FatuneError(
            f"{result.folder}: no candidate was right, so there is no kernel to install", NO)
    file = without_link(result.folder / "sdpa.py")
    program.run(["export", str(result.folder), "--to", "torch", "-o", str(file)]
                + (["--unverified"] if unverified else []))
    return file


def _check_here(result: Result) -> None:
    version = tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2])
    if version < _OLDEST:
        raise FatuneError(
            f"PyTorch {torch.__version__} is too old; the kernels need {_OLDEST[0]}.{_OLDEST[1]}",
            ENVIRONMENT)
    if not torch.cuda.is_available() or torch.version.cuda is None:
        raise FatuneError("PyTorch finds no NVIDIA GPU here, so no kernel could run", ENVIRONMENT)
    here = torch.cuda.get_device_name()
    if here != result.device:
        raise FatuneError(
            f"{result.folder} was tuned on {result.device}, and this is {here}: tune here", DEVICE)


def _imported(file: Path) -> ModuleType:
    name = f"fatune_exported_{hashlib.sha256(str(file.resolve()).encode()).hexdigest()[:8]}"
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise FatuneError(f"{file} cannot be imported", FILES)
    # torch.compile finds the module by its name.
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    vars(module)["_INSTALLED"] = True  # its kernels serve only while they are installed
    spec.loader.exec_module(module)
    return module
