"""mask.py: Defines which keys each query sees, as src/model/problem/mask.hpp and lengths.hpp."""
import functools
import operator

import torch


def split(text):
    form, _, numbers = text.partition(":")
    return form, [int(number) for number in numbers.split(",") if number]


class Mask:
    """Query i has the position i + `diagonal`. It sees the keys from `before` its position to
    `after` it, both included, where None means all; and the first `prefix` keys.

    `lengths_kind` is "padding" or "padding-left", which leave `lengths` keys of each batch entry.
    Or it is "document": a query sees keys of its own document, and `lengths` are theirs. Without
    lengths it is empty.

    `rule` is none, or a function of (score, batch, head, query, key) that is 0 for hidden keys."""

    def __init__(self, text, queries, keys, batch, heads=1, rule=None):
        base, _, lengths = text.partition("+")
        if base.startswith(("padding", "document")):
            base, lengths = "none", base
        form, numbers = split(base)
        self.text, self.queries, self.keys, self.batch = text, queries, keys, batch
        self.heads, self.rule = heads, rule
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
        self.take_lengths(lengths)
        self.hides = self.kind != "none" or self.lengths_kind != "" or rule is not None
        if rule is not None:
            self.kind = "expression"

    def depends_on(self, name):
        return self.rule is not None and name in self.rule.names

    def take_lengths(self, text):
        self.lengths_kind, self.lengths = split(text)
        self.pads = self.lengths_kind.startswith("padding")
        if self.pads:
            self.lengths = [self.lengths[i % len(self.lengths)] for i in range(self.batch)]
            self.device_lengths = on_device(self.lengths)
        elif self.lengths_kind:
            self.documents = on_device([document for document, length in enumerate(self.lengths)
                                        for _ in range(length)])

    def sees(self, query, key, batch, head=None):
        """Whether the query of the batch entry sees the key, where the mask hides some. All may be
        tensors; `batch` counts for padding and rules, `head` for rules alone."""
        apart = key - query - self.diagonal
        seen = []
        if self.after is not None:
            seen.append(apart <= self.after)
        if self.before is not None:
            seen.append(apart >= -self.before)
        if self.lengths_kind == "padding":
            seen.append(key < self.device_lengths[batch])
        elif self.lengths_kind == "padding-left":
            seen.append(key >= self.keys - self.device_lengths[batch])
        elif self.lengths_kind == "document":
            seen.append(self.documents[query] == self.documents[key])
        if self.prefix:
            seen = [functools.reduce(operator.and_, seen) | (key < self.prefix)]
        if self.rule is not None:
            seen.append(self.rule(None, batch, head, query, key) != 0)
        return functools.reduce(operator.and_, seen)

    def places(self):
        """Queries in a column and keys in a row."""
        return (torch.arange(self.queries, dtype=torch.int32, device="cuda")[:, None],
                torch.arange(self.keys, dtype=torch.int32, device="cuda"))

    def tensor(self):
        """Booleans, (queries, keys); with padding (batch, 1, queries, keys), and with a rule
        (batch, heads, queries, keys) or such with sizes of 1."""
        batch = head = None
        if self.pads or self.rule is not None:
            batch = torch.arange(self.batch, dtype=torch.int32, device="cuda")[:, None, None, None]
            head = torch.arange(self.heads, dtype=torch.int32, device="cuda")[:, None, None]
        return self.sees(*self.places(), batch, head)


def on_device(numbers):
    return torch.tensor(numbers, dtype=torch.int32, device="cuda")
