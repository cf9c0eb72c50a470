"""Causal attention as a problem of KernelBench."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self):
        super(Model, self).__init__()

    def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        """Shapes (batch, heads, seq, head_dim)."""
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)


batch_size, heads = 4, 8
sequence_length = 512
head_dim = sequence_length // heads


def get_inputs():
    shape = (batch_size, heads, sequence_length, head_dim)
    return [torch.randn(shape), torch.randn(shape), torch.randn(shape)]


def get_init_inputs():
    return []
