import torch
import torch.nn.functional as F
from task import input_t, output_t
from utils import DeterministicContext, make_match_reference


def generate_input(batch: int, heads: int, kvheads: int, seq: int, dim: int, seed: int) -> input_t:
    gen = torch.Generator(device="cuda")
    gen.manual_seed(seed)
    options = 0.5
    q = torch.randn(batch, seq, heads, dim, dtype=torch.bfloat16, device="cuda", generator=gen) * options
    k = torch.empty((batch, seq, kvheads, dim), dtype=torch.bfloat16).uniform_(-1, 1).to(device="cuda")
    v = torch.randn_like(k).contiguous()
    return q, k, v


def ref_kernel(data: input_t) -> output_t:
    with DeterministicContext():
        q, k, v = data
        out = F.scaled_dot_product_attention(
            q.transpose(1, 2).float(), k.transpose(1, 2).float(), v.transpose(1, 2).float(),
            is_causal=True, scale=q.shape[-1] ** -0.5, enable_gqa=True)
        return out.transpose(1, 2).contiguous().to(q.dtype)


check_implementation = make_match_reference(ref_kernel, rtol=1e-2, atol=1e-2)
