"""models.py: Defines small models with known attention calls for the tests of this folder."""
import torch
import torch.nn.functional as F
from torch.nn.functional import scaled_dot_product_attention as attention_by_another_name

BATCH, HEADS, TOKENS, DIM = 4, 8, 512, 64  # of the problem that is recorded
WIDTH = HEADS * DIM


class Layer(torch.nn.Module):
    """Queries, keys and values contiguous by heads, as the recording has them; its products are cheap on a CPU."""

    def __init__(self):
        super().__init__()
        self.to_qkv = torch.nn.Parameter(torch.randn(3, WIDTH))

    def forward(self, x, **options):
        q, k, v = ((x * weights).view(x.shape[0], -1, HEADS, DIM).transpose(1, 2).contiguous()
                   for weights in self.to_qkv)
        out = F.scaled_dot_product_attention(q, k, v, **options)
        return x + out.transpose(1, 2).reshape(x.shape)


class Model(torch.nn.Module):
    def __init__(self, layers=2):
        super().__init__()
        self.layers = torch.nn.ModuleList(Layer() for _ in range(layers))

    def forward(self, x, **options):
        for layer in self.layers:
            x = layer(x, **options)
        return x


def model_and_input(layers=2, tokens=TOKENS):
    torch.manual_seed(0)
    model = Model(layers).eval().requires_grad_(False).to(torch.float16)
    return model, torch.randn(BATCH, tokens, WIDTH).to(torch.float16)


def packed(batch=2, tokens=16, heads=4, dim=32, dtype=torch.float16):
    """q, k and v as parts of one product."""
    return tuple(part.transpose(1, 2) for part in
                 torch.randn(batch, tokens, 3, heads, dim).to(dtype).unbind(2))


def by_another_name(*args, **options):
    return attention_by_another_name(*args, **options)
