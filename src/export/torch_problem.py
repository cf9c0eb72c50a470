"""Attention kernels tuned by fatune, behind a function with the signature of PyTorch's own.

    from sdpa import sdpa
    out = sdpa(query, key, value, is_causal=True)

query is (batch, heads, seq_q, head_dim); key and value are (batch, kv_heads, seq_kv, head_dim). Calls that no kernel
of this file was made for go to torch.nn.functional.scaled_dot_product_attention: other sizes, strides, types, masks,
scales and devices, dropout, and every call that needs gradients. Results are equal but for rounding, and their
dimensions lie in memory as the query's do. window_size=(L, R) is FlashAttention's: keys before and after the place of
the query, counted from the last query and key; -1 is no bound. softcap=X lets scores become X * tanh(score / X). The
function is also the operator torch.ops.fatune.sdpa. value may have another head_dim.
Needs PyTorch 2.5 or newer and nothing else.

    attention() says what PyTorch's function has no arguments for: lengths, slopes, sinks, masks by their names,
                and expressions with the tensors that they read
    sdpa_fp8()  attention by the file's fp8 kernels: of fp8 tensors with factors, or of 16-bit tensors, which they quantize
    info()      lists the kernels of this file, one dictionary each
    load()      loads all kernels that a device can run; without it each is loaded at its first call
    explain()   takes the arguments of sdpa() and says which kernel serves the call, or why PyTorch does
    counts()    counts the calls of this process by kind, and what served them
    python sdpa.py      prints the list; on a GPU also compares each kernel with PyTorch in result and time
"""
from __future__ import annotations

import base64
import ctypes
import hashlib
import itertools
import json
import math
import re
import sys
import threading
import warnings
import weakref
import zlib

import torch
import torch.autograd.forward_ad as _forward_ad
import torch.nn.functional as F
from torch.utils.flop_counter import register_flop_formula

# @fatune: contents
_FACTS = json.loads("[]")  # @fatune: facts
_CUBINS: dict[str, str] = {}  # @fatune: cubins

_DTYPES = {"f16": torch.float16, "bf16": torch.bfloat16, "e4m3": torch.float8_e4m3fn, "e5m2": torch.float8_e5m2}
_ELEMENTS = {"i32": torch.int32, "f32": torch.float32}  # of tensors that expressions read
_FP8 = (torch.float8_e4m3fn, torch.float8_e5m2)
_UPPER_LEFT, _LOWER_RIGHT = "causal-upper-left", "causal"  # masks of problems; is_causal means the former
_MAX_MASKS = 64  # chosen: mask tensors whose kind is remembered
_MAX_TABLES = 16  # chosen: sets of kernels whose decisions are cached
_ALIGNMENT = 16  # bytes; alignment of tensor maps and of the kernels' vector loads
_INSTALLED: bool = globals().get("_INSTALLED", False)  # set by fatune.install() before the import
_MISALIGNED = f"a tensor does not begin at a multiple of {_ALIGNMENT} bytes"


def _bias_side(mask):
    """Returns the alignment of PyTorch's causal mask objects; None for other masks. The module
    takes seconds to import; a caller with a mask object has imported it."""
    module = sys.modules.get("torch.nn.attention.bias")
    if module is None or not isinstance(mask, module.CausalBias):
        return None
    return _LOWER_RIGHT if mask.variant == module.CausalVariant.LOWER_RIGHT else _UPPER_LEFT


# Describes the call and decides whether a kernel supports it, from sizes and strides only.

def _problem_key(q, k, v, dtype, mask, gqa):
    """Returns the problem that a kernel must be tuned for, from the tensors' shapes; None if no
    kernel can serve. Only the product of heads and batch counts, unless scores or masks know them: the
    strides tell whether one can be viewed as the other."""
    if not len(q) == len(k) == len(v) == 4 or k[:3] != v[:3] or q[0] != k[0] or q[3] != k[3]:
        return None
    if q[1] != k[1] and not (gqa and k[1] > 0 and q[1] % k[1] == 0):
        return None
    meaning, knows_places = _meaning(mask, q[2], k[2])
    heads = q[:2] if knows_places else q[0] * q[1]
    return (heads, k[0] * k[1], q[2], k[2], q[3], v[3], dtype, meaning)


def _strides_seen(shape, stride, heads):
    """Returns the strides of row, head and batch, in elements, of a tensor (batch, heads, seq, dim)
    viewed with `heads` heads. A dimension of size 1 has its contiguous stride. None if no such view
    exists or columns are not adjacent."""
    batch, own_heads, seq, dim = shape
    of_batch, of_head, of_row, of_column = stride
    if of_column != 1:
        return None
    if own_heads != heads:
        if own_heads > 1 and batch > 1 and of_batch != own_heads * of_head:
            return None
        of_head = of_batch if own_heads == 1 else of_head
        of_batch = of_head * heads
        batch = batch * own_heads // heads
    return (of_row if seq > 1 else dim, of_head if heads > 1 else seq * dim,
            of_batch if batch > 1 else heads * seq * dim)


def _dense_strides(shape, stride):
    """Returns the strides of torch.empty_like, which PyTorch's attention gives its output: dense,
    in the tensor's memory order. None if dimensions share a stride."""
    order = sorted((i for i in range(4) if shape[i] > 1), key=lambda i: stride[i])
    if len({stride[i] for i in order}) < len(order):
        return None
    dense, step = [1] * 4, 1
    for i in order:
        dense[i] = step
        step *= shape[i]
    return tuple(dense)


def _output_strides(query, columns):
    """Returns the strides of a result, dense and in the query's memory order, or None."""
    batch, heads, rows, own = query.shape
    of_batch, of_head, of_row, _ = query.stride()
    if columns == own:
        return _dense_strides(query.shape, query.stride())
    whole = heads * rows * columns
    return (whole, columns, heads * columns, 1) if of_head < of_row else (whole, rows * columns, columns, 1)


def _can_be_mapped(strides, element):
    """Returns whether a tensor map takes these strides for elements of `element` bytes."""
    return all(0 < step * element < 2**40 and step * element % _ALIGNMENT == 0 for step in strides)


def _begins_aligned(shape, stride, element):
    """Returns whether all rows are aligned to 16 bytes relative to the first row. Also true if a
    copy would not be aligned: columns not adjacent, or a row size that is no multiple of 16 bytes.
    """
    return (all(size <= 1 or distance * element % _ALIGNMENT == 0 for size, distance in zip(shape[:-1], stride[:-1]))
            or stride[-1] != 1 or shape[-1] * element % _ALIGNMENT > 0)


def _is_not_broadcast(q, k, v, gqa):
    """Returns whether batch and heads, which may be symbols, certainly equal the query's."""
    from torch.fx.experimental.symbolic_shapes import statically_known_true  # needed for symbolic sizes only
    return all(map(statically_known_true, (q[0] == k[0], q[0] == v[0], k[1] == v[1], gqa or q[1] == k[1])))


def _flops(query, key, value, *_, out_shape=None, **__):
    """Counts both products, masked or not, as torch.utils.flop_counter does."""
    return 2 * math.prod(query[:3]) * key[2] * (query[3] + value[3])
