"""fa4.py: Runs FlashAttention-4's forward pass on tensors as they lie."""
from torch_helper.basics import package
from torch_helper.contestant import JustInTime


@package("fa4")
class FlashAttention4(JustInTime):
    TITLE, PACKAGE = "FlashAttention-4", "flash-attn-4"
    MODULE, FUNCTION = "flash_attn.cute", "flash_attn_func"

    def first_run(self):
        self.problem.refuse_masks_beside(self.TITLE, "none", "causal", "window")
        return super().first_run()

    def call(self, tensors=None):
        tensors, mask = tensors or self.problem.device, self.problem.mask
        output = self.attend(*(tensors[name].transpose(1, 2) for name in "qkv"),
                             softmax_scale=self.problem.scale, causal=self.problem.causal,
                             window_size=(mask.before, mask.after),
                             softcap=self.problem.softcap or 0.0)
        return (output[0] if isinstance(output, tuple) else output).transpose(1, 2)
