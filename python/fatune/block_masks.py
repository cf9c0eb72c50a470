"""block_masks.py: Reads what a call of flex_attention does to scores, and checks that a BlockMask hides what its mask_mod says."""
from __future__ import annotations

import math
import operator
import re
import sys
import weakref
from types import ModuleType
from typing import Any, Callable, List, Optional, Sequence, Tuple

import torch

from . import places
from .expressions import Refused
from .flex_rules import UNCHANGED, Rule, joined, of_mask, of_score
from .remembering import stamp

_TRANSFORMERS = "transformers.integrations.flex_attention"
HOME = "torch.nn.attention.flex_attention"
_MOST_OF_A_MASK = 64 << 20  # bytes; chosen
MARK = "_fatune_checked"  # the attribute with the text and the sizes for which blocks were checked
_MARKED = "_fatune_marked"  # such a mark with the tensors that a mask_mod reads, and the blocks
_PROVEN = "_fatune_proven"  # the attribute with the latest rule, sizes and blocks that were checked
UNMASKED = ("", (1, 1))  # such a mark of a call without a mask


Sizes = Tuple[int, int]  # batch and heads, each 1 where a mask_mod does not depend on it


def read(query: torch.Tensor, key: torch.Tensor, score_mod: Optional[Callable[..., Any]],
         block_mask: Any) -> Rule:
    """Returns the rule of a call. Raises Refused, whose message is a sentence; a Fault is one that
    holds for the values of the mask, too."""
    if block_mask is not None:
        check_sizes(block_mask, query, key)
    rule, mask = told(query, key, score_mod, block_mask)
    prove(query, key, block_mask, mask)
    return rule


def told(query: torch.Tensor, key: torch.Tensor, score_mod: Optional[Callable[..., Any]],
         block_mask: Any) -> Tuple[Rule, Rule]:
    """Returns the rule of a call as its functions say it, and that of the mask_mod alone. Raises
    Refused."""
    lengths = query.shape[2], key.shape[2]
    score = UNCHANGED if score_mod is None else of_score(score_mod, lengths)
    if block_mask is None:
        return score, UNCHANGED
    mask = of_mask(block_mask.mask_mod, lengths)
    return joined(score, mask), mask


def prove(query: torch.Tensor, key: torch.Tensor, block_mask: Any, rule: Rule) -> None:
    """Raises Fault unless the blocks of a BlockMask follow from its mask_mod, whose rule this is. A
    BlockMask is looked at once for the same rule, sizes and blocks."""
    if block_mask is None:
        return
    proven, shapes, blocks, fault = vars(block_mask).get(_PROVEN) or (None, (), (), "")
    if proven is not rule or shapes != (query.shape, key.shape) or not _has(block_mask, blocks):
        check_sizes(block_mask, query, key)
        fault = _fault(block_mask, rule, query.shape)
        setattr(block_mask, _PROVEN, (rule, (query.shape, key.shape), _blocks_of(block_mask), fault))
    if fault:
        raise Fault(fault)


_blocks_of = operator.attrgetter("kv_num_blocks", "kv_indices", "full_kv_num_blocks",
                                 "full_kv_indices", "seq_lengths", "BLOCK_SIZE")


def _has(block_mask: Any, blocks: Tuple[Any, ...]) -> bool:
    """Whether these are the blocks of a BlockMask; there are none before they were looked at."""
    return bool(blocks) and all(map(operator.is_, _blocks_of(block_mask), blocks))


def _fault(block_mask: Any, rule: Rule, shape: Sequence[int]) -> str:
    """Returns why blocks do not follow from a mask_mod of this rule, empty where they do. They do
    where the text, the tensor and the blocks are those that were marked. Raises Fault where they
    cannot be looked at now."""
    sizes = sizes_of(rule.mask, shape)
    if rule.bias is not None:
        sizes = (max(sizes[0], rule.bias.shape[0]), max(sizes[1], rule.bias.shape[1]))
    if _is_marked(block_mask, rule, sizes):
        return ""
    try:
        check_blocks(block_mask, sizes)
    except Fault as fault:
        if why_unread(block_mask, sizes):
            raise
        return str(fault)
    _mark(block_mask, rule, sizes)
    return ""


def _mark(block_mask: Any, rule: Rule, sizes: Sizes) -> None:
    held = [(weakref.ref(each), stamp(each)) for each in rule.held]
    # The mark alone would say that there is no tensor.
    setattr(block_mask, MARK, None if held else (rule.mask, sizes))
    setattr(block_mask, _MARKED, (rule.mask, sizes, held, _blocks_of(block_mask)))


def _is_marked(block_mask: Any, rule: Rule, sizes: Sizes) -> bool:
    text, its_sizes, held, blocks = vars(block_mask).get(_MARKED) or ("", None, (), ())
    if ((text, its_sizes, len(held)) != (rule.mask, sizes, len(rule.held))
            or not _has(block_mask, blocks)):
        return False
    return all(ref() is each and before == stamp(each) for (ref, before), each in zip(held, rule.held))


class Fault(Refused):
    """A BlockMask whose blocks do not fit its mask_mod or the call, or are not known to fit."""


def sizes_of(text: str, shape: Sequence[int]) -> Sizes:
    """Returns the batch and the heads for which a mask's text has to be looked at."""
    names = set(re.findall(r"\b[bh]\b", text))
    return shape[0] if "b" in names else 1, shape[1] if "h" in names else 1


def check_sizes(block_mask: Any, query: torch.Tensor, key: torch.Tensor) -> None:
    """Raises Fault for a BlockMask of other sizes."""
    batch, heads, seq_q, seq_kv = block_mask.shape
    if ((seq_q, seq_kv) != (query.shape[2], key.shape[2]) or batch not in (1, query.shape[0])
            or heads not in (1, query.shape[1])):
        raise Fault("its BlockMask is for other sizes")


def why_unread(block_mask: Any, sizes: Sizes) -> str:
    """Returns why a mask_mod is not evaluated for all queries and keys; empty where it may be."""
    if math.prod((*sizes, *block_mask.seq_lengths)) > _MOST_OF_A_MASK:
        return f"its mask_mod says more than {_MOST_OF_A_MASK >> 20} MiB of a mask"
    if block_mask.kv_num_blocks.is_cuda and torch.cuda.is_current_stream_capturing():
        return "its mask_mod cannot be evaluated while a graph is captured"
    return ""


def dense(block_mask: Any, sizes: Sizes) -> torch.Tensor:
    """Returns what a mask_mod says: a bool tensor (batch, heads, queries, keys)."""
    made: torch.Tensor = _home().create_mask(block_mask.mask_mod, *sizes, *block_mask.seq_lengths,
                                             device=block_mask.kv_num_blocks.device)
    return made


def check_blocks(block_mask: Any, sizes: Sizes) -> None:
    """Raises Fault unless the blocks of a BlockMask follow from its mask_mod. Those of
    create_block_mask() do; others, and those made before marking() began, are compared with all
    that the mask_mod says, which waits for the device."""
    unread = why_unread(block_mask, sizes)
    if unread:
        raise Fault(f"{unread}, so its BlockMask is not checked; one that create_block_mask() makes "
                    "while kernels are installed needs no check")
    seen = dense(block_mask, sizes)
    listed, full = _spread(block_mask, False), _spread(block_mask, True)
    if bool((seen & ~listed).any() | (full & ~seen).any()):
        raise Fault("the blocks of its BlockMask are not those that its mask_mod says")


def _spread(block_mask: Any, full: bool) -> torch.Tensor:
    """Returns for each query and key whether its block is listed, or listed as full."""
    if not full:
        blocks = block_mask.to_dense()
    elif block_mask.full_kv_num_blocks is None:
        return torch.zeros((), dtype=torch.bool, device=block_mask.kv_num_blocks.device)
    else:
        blocks = type(block_mask).from_kv_blocks(
            block_mask.full_kv_num_blocks, block_mask.full_kv_indices,
            BLOCK_SIZE=block_mask.BLOCK_SIZE, seq_lengths=block_mask.seq_lengths).to_dense()
    rows, columns = block_mask.BLOCK_SIZE
    spread = blocks.bool().repeat_interleave(rows, -2).repeat_interleave(columns, -1)
    return spread[..., :block_mask.seq_lengths[0], :block_mask.seq_lengths[1]]


def marking(create: Callable[..., Any],
            make: Optional[Callable[..., Any]] = None) -> Callable[..., Any]:
    """Returns create_block_mask() that marks what it makes, so that no check reads the device.
    `make` makes it outside of compiled code."""
    make = make or create

    def create_block_mask(*args: Any, **options: Any) -> Any:
        if torch.compiler.is_compiling():
            return create(*args, **options)
        made = make(*args, **options)
        mark(made)
        return made

    hide(create_block_mask, create)
    return create_block_mask


def compiling_once(create: Callable[..., Any]) -> Callable[..., Any]:
    """Returns create_block_mask() that compiles itself once where a caller wants it compiled, as
    transformers does. PyTorch's calls torch.compile() for each BlockMask, which takes 1.4 of 1.5 ms
    (PyTorch 2.11 on a CPU, 2026-12)."""
    if create.__name__ not in create.__code__.co_names:
        return create  # this PyTorch compiles only a part of it
    compiled: Any = None

    def make(*args: Any, **options: Any) -> Any:
        nonlocal compiled
        if not options.pop("_compile", False):
            return create(*args, **options)
        if len(args) < 6 and options.get("device") is None:  # PyTorch chooses the device before
            return create(*args, **options, _compile=True)
        compiled = compiled or torch.compile(create)
        return compiled(*args, **options)

    return make


def mark(made: Any) -> None:
    """Marks a BlockMask that create_block_mask() has just made."""
    try:
        rule = of_mask(made.mask_mod, made.seq_lengths)
        sizes = sizes_of(rule.mask, made.shape)
        if rule.bias is not None:
            sizes = (max(sizes[0], min(rule.bias.shape[0], made.shape[0])),
                     max(sizes[1], min(rule.bias.shape[1], made.shape[1])))
        _mark(made, rule, sizes)
    except Refused:
        pass  # a call of it says so


def creators() -> List[Callable[..., Any]]:
    """Returns create_block_mask(), if it was imported."""
    return [_home().create_block_mask] if HOME in sys.modules else []


def beside(flex_attention: Callable[..., Any]) -> List[Callable[..., Any]]:
    """Returns the functions that programs call in place of flex_attention: those that
    torch.compile() made of it, and that of transformers, which compiles it at its first call."""
    theirs = getattr(sys.modules.get(_TRANSFORMERS), "compile_friendly_flex_attention", None)
    original = original_of(flex_attention)
    return [*places.compiled(lambda each: original_of(each) is original),
            *([theirs] if theirs else [])]


def original_of(function: Callable[..., Any]) -> Callable[..., Any]:
    """Returns the function behind those that stand in for it."""
    while True:
        behind = getattr(function, "_fatune_original", getattr(function, "_recorded", None))
        if behind is None:
            return function
        function = behind


def hide(stand_in: Callable[..., Any], original: Callable[..., Any]) -> None:
    """Lets original_of() find the function behind one that stands in."""
    vars(stand_in)["_fatune_original"] = original


def functions() -> List[Callable[..., Any]]:
    """Returns flex_attention, if it was imported, and the functions beside it."""
    if HOME not in sys.modules:
        return []
    return [_home().flex_attention, *beside(_home().flex_attention)]


def _home() -> ModuleType:
    return sys.modules[HOME]
