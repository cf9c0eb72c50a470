"""A stand-in for FlashInfer on the stand-in for PyTorch: prefill leaves the queries, decoding the last key that the pages
hold for each query head.

The variable STAND_IN names a fault: "no_flashinfer" (it cannot be imported), "no_fa3", "no_way" (a plan
fails), "compiles" (a plan takes longer than the helper waits).
"""
import sys
import time

import torch

__version__ = "0.7.9"
if torch.WRONG == "no_flashinfer":
    raise ImportError("libflash.so: cannot open")
if torch.WRONG == "compiles":
    sys.modules["torch_helper.basics"].METHOD.patience_s = 0.05


def planned(way):
    if torch.WRONG == "compiles":
        time.sleep(0.5)
    if torch.WRONG == "no_way" or torch.WRONG == f"no_{way}":
        raise RuntimeError(f"{way} needs another GPU")


class BatchPrefillWithRaggedKVCacheWrapper:
    """fa3 takes 0.125 ms, fa2 twice that."""

    def __init__(self, workspace, kv_layout, backend):
        assert workspace.shape == (128 << 20,) and kv_layout == "NHD"
        self.backend = backend

    def plan(self, q_starts, kv_starts, heads, kv_heads, head_dim, causal, q_data_type, window_left):
        planned(self.backend)
        self.q, self.kv = (q_starts[-1], heads, head_dim), (kv_starts[-1], kv_heads, head_dim)
        assert q_data_type in (torch.float16, torch.bfloat16) and causal in (False, True)
        torch.told_window(window_left, 0 if causal else -1)

    def run(self, q, k, v, enable_pdl):
        assert (q.shape, k.shape, v.shape) == (self.q, self.kv, self.kv)
        return torch.launched(q.contiguous(), 0.125 if self.backend == "fa3" else 0.25)


class BatchDecodeWithPagedKVCacheWrapper:
    """The faster on tensor cores."""

    def __init__(self, workspace, kv_layout, use_tensor_cores, backend):
        assert kv_layout == "NHD" and backend == ("fa2" if use_tensor_cores else "auto")
        self.ms = 0.125 if use_tensor_cores else 0.25

    def plan(self, starts, pages, last, heads, kv_heads, head_dim, page, q_data_type, kv_data_type, window_left):
        planned("decode")
        torch.told_window(window_left, 0)
        self.last = [(pages[end - 1], used - 1) for end, used in zip(starts[1:], last)]
        self.heads, self.kv_heads, self.head_dim, self.page = heads, kv_heads, head_dim, page

    def run(self, q, caches, enable_pdl):
        assert q.shape == (len(self.last), self.heads, self.head_dim)
        k = caches[0]
        assert k.shape[1:] == (self.page, self.kv_heads, self.head_dim)
        output = torch.zeros(q.shape, torch.float16, "cuda")
        places = output.places()
        for page, token in self.last:
            for head in range(self.heads):
                at = (page, token, head * self.kv_heads // self.heads, 0)
                begin = 2 * sum(i * stride for i, stride in zip(at, k.strides))
                for element in range(self.head_dim):
                    to = next(places)
                    output.data[to:to + 2] = k.data[begin + 2 * element:begin + 2 * element + 2]
        return torch.launched(output, self.ms)
