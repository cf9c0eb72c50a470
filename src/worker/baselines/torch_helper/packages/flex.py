"""flex.py: Runs PyTorch's FlexAttention, compiled for the problem and its mask."""
import math

import torch

from torch_helper.basics import package
from torch_helper.contestant import JustInTime


@package("flex")
class FlexAttention(JustInTime):
    """It skips blocks of keys that the mask hides, by a block mask that is made once."""

    TITLE, PACKAGE = "FlexAttention", "torch"
    MODULE, FUNCTION = "torch.nn.attention.flex_attention", "flex_attention"
    TAKES = ("bias", "lengths", "alibi", "tensors")

    def score_mod(self):
        """Caps a score, adds the bias, then the slope's part, and applies the expression."""
        change = self.problem.change_score
        cap, diagonal = self.problem.softcap, self.problem.mask.diagonal
        bias, slopes = (self.problem.device.get(name) for name in ("bias", "alibi"))
        if bias is not None:  # sizes of 1 stand for all
            kept = [size > 1 for size in bias.shape[:3]]
            bias = bias.squeeze((0, 1, 2))

        def changed(score, batch, head, query, key):
            if cap is not None:
                score = cap * torch.tanh(score / cap)
            if bias is not None:
                place = [at for at, keep in zip((batch, head, query), kept) if keep]
                value = bias[(*place, key)]
                if value.dtype == torch.bool:
                    score = torch.where(value, score, -math.inf)
                else:
                    score = score + value
            if slopes is not None:
                score = score - slopes[head] * (query + diagonal - key).abs()
            return change(score, batch, head, query, key) if change else score

        none = cap is None and bias is None and slopes is None and change is None
        return None if none else changed

    def first_run(self):
        """Sets the options. What was compiled for the problem before is forgotten, since PyTorch
        compiles a function for few problems only."""
        problem, mask = self.problem, self.problem.mask
        self.options = {"scale": problem.scale, "enable_gqa": problem.gqa}
        if changed := self.score_mod():
            self.options["score_mod"] = changed
        if mask.hides:
            from torch.nn.attention.flex_attention import create_block_mask

            self.options["block_mask"] = create_block_mask(
                lambda batch, head, query, key: mask.sees(query, key, batch, head),
                mask.batch if mask.pads or mask.depends_on("b") else None,
                mask.heads if mask.depends_on("h") else None,
                mask.queries, mask.keys, device="cuda")
        torch.compiler.reset()
        self.attend = torch.compile(self.attend, dynamic=False, fullgraph=True)
        return super().first_run()

    def call(self, tensors=None):
        tensors = tensors or self.problem.device
        with torch.no_grad():  # in the thread that compiles too: it would compile again without
            return self.attend(*(tensors[name] for name in "qkv"), **self.options)
