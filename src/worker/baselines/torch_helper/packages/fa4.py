"""fa4.py: Runs FlashAttention-4's forward pass on tensors as they lie."""
from torch_helper.basics import package
from torch_helper.contestant import JustInTime


@package("fa4")
class FlashAttention4(JustInTime):
    TITLE, PACKAGE = "FlashAttention-4", "flash-attn-4"
    MODULE, FUNCTION = "flash_attn.cute", "flash_attn_func"

    def call(self, tensors=None):
        tensors = tensors or self.problem.device
        output = self.attend(*(tensors[name].transpose(1, 2) for name in "qkv"),
                             causal=self.problem.causal)
        return (output[0] if isinstance(output, tuple) else output).transpose(1, 2)
