"""fa4.py: Runs FlashAttention-4's forward pass on tensors as they lie."""
import torch

from torch_helper.basics import Refused, import_package, package
from torch_helper.contestant import JustInTime
from torch_helper.mask import on_device


@package("fa4")
class FlashAttention4(JustInTime):
    TITLE, PACKAGE = "FlashAttention-4", "flash-attn-4"
    MODULE, FUNCTION = "flash_attn.cute", "flash_attn_func"
    TAKES = ("lengths", "sink")

    def first_run(self):
        problem, mask = self.problem, self.problem.mask
        problem.refuse_masks_beside(self.TITLE, "none", "causal", "window")
        self.options = {"softmax_scale": problem.scale, "causal": problem.causal,
                        "window_size": (mask.before, mask.after),
                        "softcap": problem.softcap or 0.0}
        if "sink" in problem.device:
            self.options["learnable_sink"] = problem.device["sink"]
        self.joined = mask.lengths_kind == "document"  # of one sequence, without a batch
        if mask.lengths_kind:
            self.attend = import_package(self).flash_attn_varlen_func
            self.options.update(self.lengths_of(mask))
        return super().first_run()

    def lengths_of(self, mask):
        longest = max(mask.lengths)
        if self.joined:
            starts = on_device([sum(mask.lengths[:i]) for i in range(len(mask.lengths) + 1)])
            return {"cu_seqlens_q": starts, "cu_seqlens_k": starts, "max_seqlen_q": longest,
                    "max_seqlen_k": longest}
        if mask.lengths_kind != "padding" or mask.kind != "none":  # its masks end at the length
            raise Refused(f"{self.TITLE} cannot do this: padding is at the end of keys, without "
                          f"another mask, not {mask.text}", "infeasible")
        return {"seqused_k": mask.device_lengths, "max_seqlen_k": longest}

    def call(self, tensors=None):
        tensors = tensors or self.problem.device
        inputs = [tensors[name].transpose(1, 2) for name in "qkv"]
        if self.joined:
            inputs = [tensor[0] for tensor in inputs]
        output = self.attend(*inputs, **self.options)
        output = output[0] if isinstance(output, tuple) else output
        return (output[None] if self.joined else output).transpose(1, 2)
