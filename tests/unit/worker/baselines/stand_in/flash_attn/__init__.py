"""A stand-in for FlashAttention-4."""
