"""torch_values.py: Values that a reader of PyTorch's text follows: names, shapes, the causal mask.
"""
from __future__ import annotations

import dataclasses
from typing import Any, Dict, List, Optional, Sequence, Tuple

from .problems import Problem, dense_strides


class Dotted(str):
    """A name of a module or of something in it: "torch.nn.functional"."""


@dataclasses.dataclass(frozen=True)
class Tensor:
    """A tensor whose values nobody knows.

    `order[i]` is the dimension in memory of the i-th dimension now. `origin` is the argument's
    name, empty for a tensor that is made; `problem` marks the output of attention.
    """

    shape: Tuple[int, ...]
    order: Tuple[int, ...]
    dtype: str
    origin: str = ""
    problem: Optional[Problem] = None
    layouts: "Dict[str, Sequence[int]]" = dataclasses.field(default_factory=dict)

    @property
    def made(self) -> bool:
        return not self.origin and self.problem is None

    def permuted(self, order: Sequence[int]) -> "Tensor":
        return dataclasses.replace(self, shape=tuple(self.shape[i] for i in order),
                                   order=tuple(self.order[i] for i in order))

    def strides(self) -> List[int]:
        """Elements between neighbours in each dimension now."""
        memory = [0] * len(self.shape)
        for size, place in zip(self.shape, self.order):
            memory[place] = size
        return [dense_strides(memory)[place] for place in self.order]


@dataclasses.dataclass(frozen=True)
class LowerRight:
    """A causal mask that is aligned with the last query and key."""

    seq_q: int
    seq_kv: int


def tensor(shape: Sequence[int], dtype: str, origin: str = "") -> Tensor:
    """A contiguous tensor."""
    return Tensor(tuple(shape), tuple(range(len(shape))), dtype, origin)


def is_number(value: Any) -> bool:
    """Whether the value is a number; True and False are none."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)
