"""kernels.py: Exported kernels as `fatune export` writes them, and their references in PyTorch."""
from __future__ import annotations

import dataclasses
import hashlib
import json
import re
from pathlib import Path
from typing import Any, Dict, Iterable, List, Optional, Tuple

from ..errors import FILES, FatuneError
from .problems import DTYPES, Problem, number_text

_PARTS = Path(__file__).resolve().parent / "parts"
_SOURCE = Path(__file__).resolve().parents[3] / "src/export"  # of a checkout
Written = List[Path]
IMPORT = "from torch.nn.attention.bias import causal_lower_right\n"


@dataclasses.dataclass
class Kernel:
    """Machine code with what it takes to launch it, and what its run measured."""

    name: str  # a C identifier, unique in one export
    facts: Dict[str, Any]  # fatune.launch
    cubin: bytes
    header: str
    source: str
    result: Optional[Dict[str, Any]] = None  # the problem in best.json, of verified machine code

    @classmethod
    def load(cls, folder: Path, name: str, results: Iterable[Dict[str, Any]]) -> "Kernel":
        """A kernel that `fatune export --to cubin,header,source` wrote into the folder."""
        facts = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
        result = next((each for each in results if facts["verified"] and each.get("best")
                       and each["best"].get("id") == facts["id"]), None)
        return cls(name, facts, (folder / facts["cubin"]["file"]).read_bytes(),
                   (folder / f"{name}.h").read_text(encoding="utf-8"),
                   (folder / f"{name}.cu").read_text(encoding="utf-8"), result)

    @property
    def record(self) -> Dict[str, Any]:
        """The problem as the program writes it."""
        return self.facts["problem"]

    @property
    def problem(self) -> Problem:
        return Problem.of_record(self.record)

    def origin(self) -> List[str]:
        """Lines at the top of the source: problem, config, time, checks, command."""
        lines = [line[3:] if line != "//" else "" for line in self.source.splitlines()[2:40]
                 if line.startswith("//")]
        return lines[:lines.index("")] if "" in lines else lines

    def measured(self) -> str:
        """The time and the device as the origin has it; empty without one."""
        return next((line.partition(": ")[2]
                     for line in self.origin() if line.startswith("measured: ")), "")


def part(name: str) -> str:
    """The text of a file that exported files are made of."""
    for folder in (_PARTS, _SOURCE):
        if (folder / name).is_file():
            return (folder / name).read_text(encoding="utf-8")
    raise FatuneError(f"{_PARTS / name} is missing: install the package fatune anew", FILES)


def lies(problem: Problem, tensor: str) -> str:
    """The layout of one tensor: "bhsd", "bshd", "packed" or strides."""
    words = problem.layout.split(",")
    own = dict(word.split("=") for word in words if "=" in word)
    base = words[0] if "=" not in words[0] else "bhsd"
    return own.get(tensor, "bshd" if base == "packed" and tensor == "out" else base)


def why_no_reference(record: Dict[str, Any]) -> str:
    """Why a function of PyTorch on contiguous tensors cannot state the problem; empty: it can."""
    if "operation" in record:
        return "its reference cannot be written in PyTorch"
    if record["dtype"] not in ("f16", "bf16"):
        return "a reference here has no inputs for the factors of fp8"
    if record.get("lse"):
        return "its log-sum-exp is an output that a reference here does not have"
    if record.get("mask", "none") not in ("none", "causal"):
        return f"its mask is {record['mask']}, and a reference here has no mask but causal"
    if record.get("value_dim"):
        return "its v has another head dim, and a reference here has one"
    if any(record.get(change) for change in ("softcap", "bias", "alibi", "sink", "tensors")):
        return "its scores are changed, which a reference here does not do"
    for tensor in ("q", "k", "v", "out"):
        if lies(Problem.of_record(record), tensor) not in ("bhsd", "bshd"):
            return f"{tensor} is no contiguous tensor"
    return ""


def stored_shape(problem: Problem, tensor: str) -> Tuple[int, int, int, int]:
    """Sizes of a contiguous tensor in the order of its memory."""
    batch, heads, rows, columns = problem.sizes(tensor)
    return (batch, rows, heads, columns) if lies(problem, tensor) == "bshd" else (batch, heads,
                                                                                  rows, columns)


def torch_dtype(problem: Problem) -> str:
    """PyTorch's name of the element type: "float16"."""
    return DTYPES[problem.dtype]


def call_options(problem: Problem, lower_right: str, grouped: bool) -> str:
    """Further arguments of the call; `lower_right` holds the lengths of a bottom-right mask."""
    text = ""
    if problem.causal:
        mask = f"attn_mask=causal_lower_right({lower_right})" if lower_right else "is_causal=True"
        text = f", {mask}"
    text += f", scale={number_text(problem.scale)}" if problem.scale is not None else ""
    return text + (", enable_gqa=True" if grouped else "")


def own_call(problem: Problem) -> Tuple[str, str]:
    """The import and the further arguments of a call for one problem alone."""
    lower_right = problem.causal and problem.seq_q != problem.seq_kv
    options = call_options(problem, f"{problem.seq_q}, {problem.seq_kv}" if lower_right else "",
                           problem.heads != problem.kv_heads)
    return IMPORT if lower_right else "", options


def reference_body(problem: Problem, options: str) -> str:
    """Lines of a function from its arguments q, k and v to its return; it computes in fp32."""
    text = "".join(f"    {name} = {name}.transpose(1, 2)\n" for name in "qkv"
                   if lies(problem, name) == "bshd")
    text += ("    out = F.scaled_dot_product_attention(\n"
             f"        q.float(), k.float(), v.float(){options}\n    )\n")
    if lies(problem, "out") == "bshd":
        text += "    out = out.transpose(1, 2).contiguous()\n"
    elif lies(problem, "q") == "bshd":  # PyTorch gives the output the order of q
        text += "    out = out.contiguous()\n"
    return text + f"    return out.to(torch.{torch_dtype(problem)})\n"


def problem_name(problem: Problem) -> str:
    """"attention_b4_h8_q512_kv512_d64_f16_causal": an identifier made of the problem."""
    text = f"attention_b{problem.batch}_h{problem.heads}"
    text += f"_kvh{problem.kv_heads}" if problem.kv_heads != problem.heads else ""
    text += f"_q{problem.seq_q}_kv{problem.seq_kv}_d{problem.head_dim}_{problem.dtype}"
    text += "_causal" if problem.causal else ""
    text += f"_scale{number_text(problem.scale)}" if problem.scale is not None else ""
    text += f"_{problem.layout}" if problem.layout != "bhsd" else ""
    return re.sub(r"\W", "_", text)


def uuid_of(problem: Problem) -> str:
    """An identifier that the same problem has in every export."""
    text = hashlib.sha256(problem.words().encode()).hexdigest()
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:32]))
