"""Kernels of custom operations tuned by fatune, as functions and operators of PyTorch.

    import custom                  # this file
    y = custom.NAME(x, w)          # NAME: an operation; its inputs in order, on one CUDA device

The inputs' shapes and types choose a kernel, and others raise ValueError with what there is. Run-time sizes come from
the shapes; a size that no shape has follows the inputs as an int. Outputs are new tensors, in order. Also registered as
torch.ops.fatune.NAME, which a tracer sees, without gradients; where this file has something of that NAME, as info or
math, by that alone.
Needs PyTorch 2.5 or newer and nothing else.

    info()                  what is in this file: one dictionary a kernel
    python custom.py        prints the list
"""
from __future__ import annotations

import base64
import ctypes
import functools
import hashlib
import json
import keyword
import math
import sys
import threading
import warnings
import zlib

import torch
import torch.autograd.forward_ad as _forward_ad

# @fatune: contents
_FACTS = json.loads("[]")  # @fatune: facts
_CUBINS: dict[str, str] = {}  # @fatune: cubins

_DTYPES = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32, "e4m3": torch.float8_e4m3fn,
           "e5m2": torch.float8_e5m2, "f64": torch.float64, "i8": torch.int8, "u8": torch.uint8, "i16": torch.int16,
           "u16": torch.uint16, "i32": torch.int32, "u32": torch.uint32, "i64": torch.int64, "u64": torch.uint64,
           "bool": torch.bool}
_SCALARS = {"i32": ctypes.c_int32, "u32": ctypes.c_uint32, "i64": ctypes.c_int64, "u64": ctypes.c_uint64,
            "i8": ctypes.c_int8, "u8": ctypes.c_uint8, "i16": ctypes.c_int16, "u16": ctypes.c_uint16,
            "f32": ctypes.c_float, "f64": ctypes.c_double, "bool": ctypes.c_bool}
_ALIGNMENT = 16  # bytes; alignment of the kernels' vector loads
