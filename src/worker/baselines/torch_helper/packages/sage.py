"""sage.py: Runs SageAttention's forward pass, which quantizes q and k to 8 bits itself."""
from torch_helper.basics import Refused, package
from torch_helper.contestant import JustInTime


@package("sage")
class SageAttention(JustInTime):
    """A baseline for kernels that quantize; it is too inexact for 16-bit problems."""

    TITLE, PACKAGE = "SageAttention", "sageattention"
    MODULE, FUNCTION = "sageattention", "sageattn"

    def call(self, tensors=None):
        q, k, v = ((tensors or self.problem.device)[name] for name in "qkv")
        # smooth_k would subtract the mean from the caller's own K.
        k = k - k.mean(dim=2, keepdim=True)
        strides = self.problem.strides["out"]
        tokens_first = strides[1] <= strides[2]
        if tokens_first:
            q, k, v = (tensor.transpose(1, 2) for tensor in (q, k, v))
        output = self.attend(q, k, v, tensor_layout="NHD" if tokens_first else "HND",
                             is_causal=self.problem.causal, sm_scale=self.problem.scale,
                             smooth_k=False)
        return output.transpose(1, 2) if tokens_first else output

    def first_run(self):
        shapes = self.problem.shapes
        self.problem.refuse_masks_beside(self.TITLE, "none", "causal")
        if self.problem.causal and shapes["q"][2] != shapes["k"][2]:
            raise Refused(f"{self.TITLE} masks as many queries as keys", "infeasible")
        return super().first_run()
