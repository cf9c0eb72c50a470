"""A stand-in on the stand-in for PyTorch: attention, (batch, rows, heads, head_dim), leaves the queries without gaps. With
"no_fa4" in the variable STAND_IN it fails, with "broken_fa4" it cannot be imported.
"""
import torch

if torch.WRONG == "broken_fa4":
    raise ModuleNotFoundError("No module named 'cutlass.cute'")


def flash_attn_func(q, k, v, softmax_scale, causal, window_size, softcap):
    assert softmax_scale is None or softmax_scale > 0
    torch.told_window(*window_size)
    assert softcap == (float(torch.WRONG.partition("softcap:")[2] or 0))
    assert q.shape[3] == k.shape[3] and k.shape == v.shape and causal in (False, True)
    if torch.WRONG == "no_fa4":
        raise AssertionError("head_dim 8 is not supported")
    return torch.launched(q.contiguous(), 0.125), None


def flash_attn_varlen_func(q, k, v, seqused_k, max_seqlen_k, learnable_sink, **options):
    """Is told "used:9,7", the lengths of a batch."""
    assert torch.WRONG == "used:" + ",".join(map(str, seqused_k)) and max_seqlen_k == max(seqused_k)
    assert learnable_sink.shape == (q.shape[2],) and learnable_sink.width == q.width
    return flash_attn_func(q, k, v, **options)
