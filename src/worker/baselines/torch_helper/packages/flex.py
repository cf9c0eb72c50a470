"""flex.py: Runs PyTorch's FlexAttention, compiled for the problem and its mask."""
import torch

from torch_helper.basics import package
from torch_helper.contestant import JustInTime


@package("flex")
class FlexAttention(JustInTime):
    """It skips blocks of keys that the mask hides, by a block mask that is made once."""

    TITLE, PACKAGE = "FlexAttention", "torch"
    MODULE, FUNCTION = "torch.nn.attention.flex_attention", "flex_attention"

    def first_run(self):
        """Sets the options. What was compiled for the problem before is forgotten, since PyTorch
        compiles a function for few problems only."""
        problem, mask = self.problem, self.problem.mask
        self.options = {"scale": problem.scale, "enable_gqa": problem.gqa}
        if problem.softcap is not None:
            cap = problem.softcap
            self.options["score_mod"] = lambda score, *place: cap * torch.tanh(score / cap)
        if mask.kind != "none":
            from torch.nn.attention.flex_attention import create_block_mask

            self.options["block_mask"] = create_block_mask(
                lambda batch, head, query, key: mask.sees(query, key), None, None, mask.queries,
                mask.keys, device="cuda")
        torch.compiler.reset()
        self.attend = torch.compile(self.attend, dynamic=False, fullgraph=True)
        return super().first_run()

    def call(self, tensors=None):
        tensors = tensors or self.problem.device
        with torch.no_grad():  # in the thread that compiles too: it would compile again without
            return self.attend(*(tensors[name] for name in "qkv"), **self.options)
