"""__init__.py: Stands in for FlashAttention-4."""
