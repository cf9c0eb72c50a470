"""A stand-in on the stand-in for PyTorch: attention leaves the queries without gaps, in the layout that it is told."""
import torch


def sageattn(q, k, v, tensor_layout, is_causal, sm_scale, smooth_k):
    assert tensor_layout in ("NHD", "HND") and is_causal in (False, True) and not smooth_k
    assert q.shape[3] == k.shape[3] and k.shape == v.shape and (sm_scale is None or sm_scale > 0)
    return torch.launched(q.contiguous(), 0.125)
