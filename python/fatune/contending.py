"""contending.py: Makes one graph of a step with the kernels and one with each PyTorch backend."""
from __future__ import annotations

import contextlib
from typing import Dict, Iterator, Tuple

import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from . import graphs, places
from .backends import BACKENDS
from .capturing import Suite
from .installing import Installed, without_idle_masks
from .proving import PYTORCH, Contender, Step


def replayed(step: Step, installed: Installed) -> Contender:
    """Captures the step with the kernels; `installed` then counts the calls in the graph."""
    with installed.briefly():
        graphs.warm_up(step)
        installed.recount()
        return Contender(graphs.record(step))


def replayed_by_pytorch(step: Step, suite: Suite) -> Tuple[Dict[str, Contender], Dict[str, str]]:
    """Captures the step with PyTorch's own choice and with each backend alone. Also returns why a
    backend has no graph. Backends, like kernels, do not get mask tensors that are full or causal.
    Raises FatuneError (1) where the step cannot be captured."""
    graphs.warm_up(step)
    found, failed = {PYTORCH: Contender(graphs.record(step))}, {}
    for name, backend in BACKENDS.items():
        try:
            with _by(backend, suite):
                graphs.warm_up(step)
                found[name] = Contender(graphs.record(step))
        except Exception as error:  # a backend that cannot do the step is an answer
            failed[name] = graphs.words_of(error)
    return found, failed


@contextlib.contextmanager
def _by(backend: SDPBackend, suite: Suite) -> Iterator[None]:
    pytorch = F.scaled_dot_product_attention
    stand_in = without_idle_masks(pytorch, suite)
    places.replace(pytorch, stand_in)
    try:
        with sdpa_kernel(backend):
            yield
    finally:
        places.replace(stand_in, pytorch)
