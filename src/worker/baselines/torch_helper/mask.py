"""mask.py: Defines which keys each query sees, as src/model/problem/mask.hpp."""
import torch


class Mask:
    """Query i has the position i + `diagonal`. It sees the keys from `before` its position to
    `after` it, both included, where None means all; and the first `prefix` keys."""

    def __init__(self, text, queries, keys):
        form, _, numbers = text.partition(":")
        numbers = [int(number) for number in numbers.split(",") if number]
        self.text, self.queries, self.keys = text, queries, keys
        self.kind = "window" if form == "causal-window" else form
        self.diagonal = 0 if form == "causal-upper-left" else keys - queries
        self.prefix = numbers[0] if form == "prefix" else 0
        self.before, self.after = None, None if form == "none" else 0
        if form == "window":
            self.before, self.after = numbers
        elif form == "causal-window":
            self.before = numbers[0] - 1
        if self.before is not None and self.before >= keys - 1:
            self.before = None
        if self.after and self.after >= queries - 1:
            self.after = None

    def sees(self, query, key):
        """Whether the query sees the key; both may be tensors. The mask is not "none"."""
        apart = key - query - self.diagonal
        if self.after is None:
            return apart >= -self.before
        seen = apart <= self.after
        if self.before is not None:
            seen = seen & (apart >= -self.before)
        return seen | (key < self.prefix) if self.prefix else seen

    def tensor(self):
        """Booleans, (queries, keys)."""
        return self.sees(torch.arange(self.queries, dtype=torch.int32, device="cuda")[:, None],
                         torch.arange(self.keys, dtype=torch.int32, device="cuda"))
