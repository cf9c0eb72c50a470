import torch


def SDPAParams(q, k, v, mask, dropout, causal, gqa):
    return (q, k)


def can_use_flash_attention(parameters):
    return 1 in torch.enabled


def can_use_efficient_attention(parameters):
    return 2 in torch.enabled
