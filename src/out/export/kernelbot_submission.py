"""Attention kernels tuned by fatune, as a submission to KernelBot: custom_kernel((q, k, v)) for tensors as the task's
generate_input() makes them.

The tensors' shapes choose the kernel; for others than it was tuned for there is none, which is a ValueError. Launches are
queued where PyTorch queues work by default. Needs PyTorch 2.5 or newer and nothing else.
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
