"""A stand-in for FlexAttention: attention leaves the queries without gaps."""
import torch


def create_block_mask(mask_mod, B, H, Q_LEN, KV_LEN, device):
    rows, columns = (torch.arange(count, torch.int32, device) for count in (Q_LEN, KV_LEN))
    return mask_mod(0, 0, rows[:, None], columns)


def flex_attention(q, k, v, scale, enable_gqa, block_mask=None):
    assert scale is None or scale > 0
    assert enable_gqa == (q.size(1) != k.size(1)) and k.shape == v.shape
    torch.told_pairs(q.size(2) * k.size(2) if block_mask is None else sum(block_mask))
    return torch.launched(q.clone(), 0.125)
