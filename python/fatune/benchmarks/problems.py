"""problems.py: Attention problems as benchmarks state them, and the suite that `fatune sweep`
reads."""
from __future__ import annotations

import dataclasses
import json
import math
from typing import Any, Dict, List, Optional, Sequence, Tuple

from .. import layouts
from ..documents import note

DTYPES = {"f16": "float16", "bf16": "bfloat16", "e4m3": "float8_e4m3fn", "e5m2": "float8_e5m2"}
"""Element types by fatune's name, with PyTorch's."""
_LARGEST_TENSOR = 1 << 40  # bytes
_TENSORS = ("q", "k", "v", "out")


@dataclasses.dataclass(frozen=True)
class Problem:
    """One attention problem of 16-bit tensors; `mask`, `layout`, `bias` and `score` are text as
    options of these names take it."""

    batch: int
    heads: int
    kv_heads: int
    seq_q: int
    seq_kv: int
    head_dim: int
    dtype: str = "f16"
    mask: str = "none"
    scale: Optional[float] = None
    layout: str = "bhsd"
    bias: str = ""
    score: str = ""
    softcap: Optional[float] = None
    lse: bool = False
    value_dim: Optional[int] = None
    """Columns of v and out, if not head_dim."""
    tensors: Tuple[str, ...] = ()
    """Declarations name the tensors that expressions read: "doc=i32[4096]:0*700,1*3396"."""

    @classmethod
    def of_record(cls, record: Dict[str, Any]) -> "Problem":
        """From the problem in a record of the program. It must be attention."""
        batch, heads, seq_q = record["batch"], record["heads"], record["seq_q"]
        return cls(batch, heads, record.get("kv_heads", heads), seq_q, record.get("seq_kv", seq_q),
                   record["head_dim"], record["dtype"], record.get("mask", "none"),
                   record.get("scale"), record.get("layout", "bhsd"), record.get("bias", ""),
                   record.get("score", ""), record.get("softcap"), record.get("lse", False),
                   record.get("value_dim"), tuple(record.get("tensors", ())))

    @property
    def causal(self) -> bool:
        """Whether the mask is causal, aligned with the last query and key."""
        return self.mask == "causal"

    def default_scale(self) -> float:
        """The scale that a problem without one of its own has."""
        return 1 / math.sqrt(self.head_dim)

    def sizes(self, tensor: str) -> Tuple[int, int, int, int]:
        """Batch, heads, rows and columns of q, k, v or out."""
        columns = self.head_dim if tensor in ("q", "k") else self.value_dim or self.head_dim
        if tensor in ("q", "out"):
            return self.batch, self.heads, self.seq_q, columns
        return self.batch, self.kv_heads, self.seq_kv, columns

    def fault(self) -> Optional[str]:
        """Why no kernel can have this problem; None when one can."""
        for name in ("batch", "heads", "kv_heads", "seq_q", "seq_kv", "head_dim"):
            if getattr(self, name) < 1:
                return f"{name} must be at least 1, but is {getattr(self, name)}"
        if self.heads % self.kv_heads:
            return f"kv_heads must divide heads, but {self.kv_heads} does not divide {self.heads}"
        if self.scale is not None and not (math.isfinite(self.scale) and self.scale > 0):
            return f"scale must be a number greater than 0, not {number_text(self.scale)}"
        for tensors, tensor in (("q and out", "q"), ("k and v", "k")):
            if 2 * math.prod(self.sizes(tensor)) > _LARGEST_TENSOR:
                return f"{tensors} would be larger than 1 TiB each"
        return None

    def words(self) -> str:
        """One line for people: "4,8(kv 2),16x512,64 f16 causal bshd"."""
        heads = f"{self.heads}(kv {self.kv_heads})" if self.kv_heads != self.heads else self.heads
        rows = f"{self.seq_q}x{self.seq_kv}" if self.seq_q != self.seq_kv else self.seq_q
        columns = f"(v {self.value_dim})" if self.value_dim else ""
        text = f"{self.batch},{heads},{rows},{self.head_dim}{columns} {self.dtype}"
        text += f" {self.mask}" if self.mask != "none" else ""
        text += f" bias {self.bias}" if self.bias else ""
        text += f" score {self.score}" if self.score else ""
        text += "".join(f" tensor {each.partition(':')[0]}" for each in self.tensors)
        text += f" softcap {number_text(self.softcap)}" if self.softcap is not None else ""
        text += " lse" if self.lse else ""
        text += f" scale {number_text(self.scale)}" if self.scale is not None else ""
        return text + (f" {self.layout}" if self.layout != "bhsd" else "")

    def entry(self) -> Dict[str, Any]:
        """The problem in a suite (fatune.problems/1) without a name; defaults are left out."""
        made: Dict[str, Any] = {"shape": f"{self.batch},{self.heads},{self.seq_q},{self.head_dim}"}
        if self.kv_heads != self.heads:
            made["kv_heads"] = self.kv_heads
        if self.seq_kv != self.seq_q:
            made["seq_kv"] = self.seq_kv
        if self.value_dim is not None:
            made["value_dim"] = self.value_dim
        if self.dtype != "f16":
            made["dtype"] = self.dtype
        if self.causal:
            made["causal"] = True
        elif self.mask != "none":
            made["mask"] = self.mask
        if self.layout != "bhsd":
            made["layout"] = self.layout
        if self.scale is not None:
            made["scale"] = self.scale
        if self.bias:
            made["bias"] = self.bias
        if self.score:
            made["score"] = self.score
        if self.tensors:
            made["tensors"] = list(self.tensors)
        if self.softcap is not None:
            made["softcap"] = self.softcap
        if self.lse:
            made["lse"] = True
        return made


class Suite:
    """Named problems, each once."""

    def __init__(self, name: str, source: str) -> None:
        self.name, self.source = name, source
        self.problems: Dict[str, Problem] = {}
        self._names: Dict[Problem, str] = {}

    def add(self, name: str, problem: Problem, what: str) -> None:
        """Adds a problem, or notes that `what` is the same problem as an earlier one."""
        same = self._names.setdefault(problem, name)
        if same != name:
            note(f"{what} is the same problem as {same}")
        else:
            self.problems[name] = problem

    def text(self) -> str:
        """The document that `fatune sweep --suite` reads, a line for each problem."""
        head = {"schema": "fatune.problems/1", "name": self.name, "summary": f"From {self.source}"}
        lines = ",".join(f"\n  {json.dumps({'name': name, **each.entry()})}"
                         for name, each in self.problems.items())
        return f'{json.dumps(head)[:-1]},\n "problems": [{lines}\n ]}}\n'


def number_text(value: float) -> str:
    """A number in its shortest form: 1 and 0.125."""
    return repr(value).removesuffix(".0")


def dtype_of_torch(name: str) -> Optional[str]:
    """fatune's name of an element type of PyTorch ("float16"); None for one that kernels lack."""
    return next((ours for ours, theirs in DTYPES.items() if theirs == name),
                "f16" if name == "half" else None)


def dense_strides(shape: Sequence[int]) -> List[int]:
    """Strides of a contiguous tensor, in elements."""
    return [math.prod(shape[i + 1:]) for i in range(len(shape))]


def layout_text(strides: Dict[str, Sequence[int]], problem: Problem) -> Tuple[str, Optional[str]]:
    """The layout for strides of batch, head, row and column, and why it is none, if so."""
    tensors = {name: (problem.sizes(name), strides[name]) for name in _TENSORS}
    for name, (sizes, steps) in tensors.items():
        if steps[3] != 1:
            return "", f"{name}'s columns do not lie side by side"
    text = layouts.layout_of(tensors, packed=False)
    for part in text.split(","):
        name = part.partition("=")[0]
        if ":" in part and not layouts.is_aligned(*tensors[name]):
            return "", f"{name}: its rows do not begin at multiples of 16 bytes"
    return text, None
