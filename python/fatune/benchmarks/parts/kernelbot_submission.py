"""Attention kernels tuned by fatune: custom_kernel((q, k, v)) returns their attention.

The shapes of the tensors choose the kernel. Shapes that no kernel was tuned for are a ValueError.
Launches are queued where PyTorch queues work by default. Needs PyTorch 2.5 or newer.
"""
from __future__ import annotations

import base64
import ctypes
import functools
import hashlib
import json
import math
import sys
import threading
import zlib

import torch

# @fatune: contents
_FACTS = json.loads("[]")  # @fatune: facts
_CUBINS: dict[str, str] = {}  # @fatune: cubins

_DTYPES = {"f16": torch.float16, "bf16": torch.bfloat16}
_MAX_REMEMBERED = 1024  # chosen: launches of a kernel that are kept before all are forgotten
