"""layers.py - 12 layers of 512 columns on 4 texts of 512 tokens, q, k and v as one product; random weights.

    python -m fatune optimize --graph examples/models/layers.py
"""
import sys

import torch
import torch.nn.functional as F
from torch import nn

small = "--small" in sys.argv  # for a CPU
device = "cuda" if torch.cuda.is_available() else "cpu"


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(512) for _ in range(2))
        self.to_qkv, self.to_out = nn.Linear(512, 3 * 512), nn.Linear(512, 512)
        self.mlp = nn.Sequential(nn.Linear(512, 2048), nn.GELU(), nn.Linear(2048, 512))

    def forward(self, x):
        q, k, v = self.to_qkv(self.norms[0](x)).unflatten(2, (3, 8, 64)).permute(2, 0, 3, 1, 4)
        x = x + self.to_out(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))
        return x + self.mlp(self.norms[1](x))


model = nn.Sequential(*(Layer() for _ in range(1 if small else 12))).to(device, torch.float16).eval()
x = torch.randn(1 if small else 4, 512, 512, device=device).half()


@torch.inference_mode()
def step():
    return model(x)


if __name__ == "__main__":
    print(tuple(step().shape))
