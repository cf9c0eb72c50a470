"""video.py - 8 blocks like HunyuanVideo's on a text and 33 frames of 480 x 832: 14,296 tokens; random weights.

    python -m fatune optimize --graph examples/models/video.py
"""
import sys

import torch
import torch.nn.functional as F

small = "--small" in sys.argv  # for a CPU
device = "cuda" if torch.cuda.is_available() else "cpu"
heads, tokens, layers = (4, 96, 1) if small else (24, 9 * 30 * 52 + 256, 8)
width = 128 * heads


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.norm_q, self.norm_k = (torch.nn.RMSNorm(size) for size in (width, 128, 128))
        self.to_q, self.to_k, self.to_v = (torch.nn.Linear(width, width) for _ in range(3))
        self.mlp, self.to_out = torch.nn.Linear(width, 4 * width), torch.nn.Linear(5 * width, width)

    def forward(self, x):
        normed = self.norm(x)
        q, k, v = (to(normed).unflatten(2, (heads, 128)) for to in (self.to_q, self.to_k, self.to_v))
        q, k = (torch.view_as_complex(part.float().unflatten(3, (-1, 2))) for part in (self.norm_q(q), self.norm_k(k)))
        q, k = (torch.view_as_real(part * turns).flatten(3).to(v.dtype) for part in (q, k))
        out = F.scaled_dot_product_attention(*(part.transpose(1, 2) for part in (q, k, v))).transpose(1, 2).flatten(2)
        return x + self.to_out(torch.cat((out, F.gelu(self.mlp(normed), approximate="tanh")), dim=2))


with torch.device(device):
    model = torch.nn.Sequential(*(Block() for _ in range(layers))).to(torch.bfloat16).eval()
    x = torch.randn(1, tokens, width).to(torch.bfloat16)
    turns = torch.polar(torch.ones(tokens, 1, 64), torch.rand(tokens, 1, 64))  # rotary embedding
step = torch.inference_mode()(lambda: model(x))


if __name__ == "__main__":
    print(tuple(step().shape))
