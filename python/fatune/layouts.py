"""layouts.py: Turns shapes and strides of q, k and v into a layout or a reason."""
from __future__ import annotations

from typing import Optional, Sequence, Tuple

Sizes = Tuple[int, int, int, int]  # batch, heads, rows, columns
Steps = Tuple[int, int, int]  # elements from one batch entry, head and row to the next

_ELEMENT = 2  # bytes: of f16 and bf16
ALIGNMENT = 16
"""Bytes of which a row begins at a multiple."""


def dense_strides(shape: Sequence[int], strides: Sequence[int]) -> Optional[Tuple[int, ...]]:
    """Returns the strides of PyTorch's result: without gaps, in the query's order. None when two
    dimensions begin at the same places."""
    order = sorted((i for i in range(4) if shape[i] > 1), key=lambda i: strides[i])
    if len({strides[i] for i in order}) < len(order):
        return None
    dense, step = [1] * 4, 1
    for i in order:
        dense[i] = step
        step *= shape[i]
    return tuple(dense)


def steps_of(shape: Sequence[int], strides: Sequence[int]) -> Steps:
    """Returns strides of batch, head and row. Dimensions of size 1 count as in contiguous memory.
    """
    batch, heads, rows, columns = shape
    return (strides[0] if batch > 1 else heads * rows * columns,
            strides[1] if heads > 1 else rows * columns, strides[2] if rows > 1 else columns)


def fault(name: str, shape: Sequence[int], strides: Sequence[int]) -> Optional[str]:
    """Returns why no kernel can read a tensor of these strides; None when one can."""
    if shape[3] > 1 and strides[3] != 1:
        return f"the columns of {name} lie apart"
    steps = steps_of(shape, strides)
    if 0 in steps:
        parts = ("batch entries", "heads", "rows")[steps.index(0)]
        return f"{name} is expanded: {parts} lie in the same place"
    order = sorted((step, size) for step, size in zip(steps, shape) if size > 1)
    reach = shape[3]
    for step, size in order:
        if step < reach:
            return f"rows of {name} overlap"
        reach = step * (size - 1) + reach
    return None


def is_aligned(shape: Sequence[int], strides: Sequence[int]) -> bool:
    """Whether every row begins a multiple of 16 bytes after the first, as kernels need."""
    return all(step * _ELEMENT % ALIGNMENT == 0 for step in steps_of(shape, strides))


def _steps_in(word: str, sizes: Sizes, packed_heads: int) -> Steps:
    batch, heads, rows, columns = sizes
    if word == "bhsd":
        return steps_of(sizes, (heads * rows * columns, rows * columns, columns, 1))
    row = (packed_heads if word == "packed" else heads) * columns
    return steps_of(sizes, (rows * row, columns, row, 1))


def layout_of(tensors: "dict[str, tuple[Sizes, Sequence[int]]]", packed: bool) -> str:
    """Returns the layout's text for shapes and strides of q, k, v and out without faults. `packed`:
    q, k and v are consecutive parts of one tensor. A layout has this word for all three or none."""
    (_, heads, rows, _), (_, kv_heads, kv_rows, _) = tensors["q"][0], tensors["k"][0]
    steps = {name: steps_of(shape, strides) for name, (shape, strides) in tensors.items()}

    def lies(name: str, word: str) -> bool:
        return _steps_in(word, tensors[name][0], heads + 2 * kv_heads) == steps[name]

    if packed and rows == kv_rows and all(lies(name, "packed") for name in "qkv") and lies(
            "out", "bshd"):
        return "packed"
    for word in ("bhsd", "bshd"):
        if all(lies(name, word) for name in tensors):
            return word
    own = {
        name: next((word for word in ("bshd", "bhsd") if lies(name, word)),
                   "{}:{}:{}".format(*steps[name]))
        for name in tensors}
    base = own["out"] if own["out"] in ("bhsd", "bshd") else "bhsd"
    parts = [] if base == "bhsd" else [base]
    return ",".join(parts +
                    [f"{name}={own[name]}" for name in ("q", "k", "v", "out") if own[name] != base])
