"""tokens.py: Hands tensors to packages that take all tokens of a batch in one row."""
import torch

from torch_helper.basics import Refused


def starts(count, step):
    """First token of each batch entry, then the end of the last one."""
    return torch.arange(count + 1, dtype=torch.int32, device="cuda") * step


def by_token(tensor):
    """(tokens, heads, head_dim) of (batch, heads, rows, head_dim), whose tokens have no gap."""
    size, stride = tensor.shape, tensor.stride()
    return tensor.as_strided((size[0] * size[2], size[1], size[3]), (stride[2], stride[1], 1))


def refuse_other_tokens(problem, title):
    for name in "qkv":
        shape, stride = problem.shapes[name], problem.strides[name]
        if shape[0] > 1 and stride[0] != shape[2] * stride[2]:
            raise Refused(f"{title} cannot do this: it takes tokens one behind the other, batch "
                          f"after batch, as bshd and packed have them; {name} lies otherwise",
                          "infeasible")
