"""functions.py: Defines right and wrong functions for python:FILE:FUNCTION."""
import torch

SCALE = 0.5


def attend(q, k, v, *, scale, causal):
    assert 0 < scale < 1 and causal in (False, True) and k.shape == v.shape
    return torch.launched(q.clone(), 0.125)


def attend_window(q, k, v, *, scale, causal, mask):
    assert (causal, mask) == (False, "causal-window:5")
    return torch.launched(q.clone(), 0.125)


def attend_with_lse(q, k, v, *, scale, causal, lse):
    assert (scale, causal, lse) == (0.5, True, True)
    return torch.launched(q.clone(), 0.125), "the log-sum-exp"


def attend_fp8(q, k, v, *, scale, causal, out_dtype, q_descale, k_descale, v_descale):
    assert out_dtype == torch.bfloat16 and q_descale.shape == k_descale.shape == v_descale.shape
    return torch.Tensor(bytearray(2 * len(q.data)), q.shape, dtype=out_dtype)


def raises(q, k, v, **_):
    raise ValueError(f"heads of {q.shape[3]} are too short")


def takes_two(q, k):
    return q


def gives_nothing(q, k, v, **_):
    pass


def gives_tokens(q, k, v, **_):
    return q.transpose(1, 2)


def gives_f32(q, k, v, **_):
    output = q.clone()
    output.dtype = torch.float32
    return output


def gives_host(q, k, v, **_):
    output = q.clone()
    output.device = "cpu"
    return output


def too_large(q, k, v, **_):
    raise RuntimeError("CUDA out of memory. Tried to allocate 64.00 GiB")


def writes_keys(q, k, v, **_):
    k.data[0] ^= 1
    return torch.launched(q.clone(), 0.125)
