from typing import TypedDict

import torch

input_t = tuple[torch.Tensor, torch.Tensor, torch.Tensor]  # q, k, v
output_t = torch.Tensor


class TestSpec(TypedDict):
    batch: int
    heads: int
    kvheads: int
    queries: int
    keys: int
    dim: int
    seed: int
