"""sdpa.py: Runs one backend of PyTorch's scaled_dot_product_attention, or PyTorch's own choice."""
import contextlib
import math
import warnings

import torch

from torch_helper.basics import Refused, out_of_memory, shortened
from torch_helper.contestant import Contestant


class Sdpa(Contestant):
    BACKENDS = {"flash": "FLASH_ATTENTION", "cudnn": "CUDNN_ATTENTION",
                "efficient": "EFFICIENT_ATTENTION", "math": "MATH"}
    TAKES = ("bias", "lengths", "alibi", "tensors")
    ALIGNED = 8  # elements; PyTorch copies a mask of other rows in each launch

    def __init__(self, problem, name):
        self.backend = None
        if name != "auto":
            self.backend = getattr(torch.nn.attention.SDPBackend, self.BACKENDS[name], None)
            if self.backend is None:
                raise Refused(f"PyTorch {torch.__version__} has no backend {name}; a newer one has",
                              "environment")
        if name == "flash":
            self.TAKES = ()  # it has no attn_mask
        self.made_of_inputs = False
        self.options = {"dropout_p": 0.0}
        if problem.scale is not None:
            self.options["scale"] = problem.scale
        if problem.gqa:
            self.options["enable_gqa"] = True
        super().__init__(problem, name)

    def added(self):
        """Returns the tensor that is added to scores, made once: PyTorch turns booleans into it in
        each launch. A bias that is alone is the problem's own tensor."""
        problem, mask = self.problem, self.problem.mask
        bias, slopes = (problem.device.get(name) for name in ("bias", "alibi"))
        if bias is not None and slopes is None and not mask.hides:
            return bias
        added, dtype = 0.0, problem.dtype
        if slopes is not None:
            queries, keys = mask.places()
            added = -slopes[None, :, None, None] * (queries + mask.diagonal - keys).abs()
        if bias is not None and bias.dtype == torch.bool:
            added = torch.where(bias, added, -math.inf)
        elif bias is not None:
            added, dtype = added + bias, bias.dtype
        if mask.hides:
            added = torch.where(mask.tensor(), added, -math.inf)
        self.made_of_inputs = bias is not None or slopes is not None
        added = added.to(dtype)
        if mask.keys % self.ALIGNED == 0:
            return added
        return torch.nn.functional.pad(added, (0, -mask.keys % self.ALIGNED))[..., :mask.keys]

    def renew(self):
        if self.made_of_inputs:
            self.options["attn_mask"].copy_(self.added())

    def set_mask(self):
        """Sets the options of the mask; true for the bias that only fused kernels understand.

        is_causal is aligned top-left, and "causal" bottom-right, which are equal for a square. For
        others, flash, efficient and auto take causal_lower_right. All else is added to scores.
        """
        mask = self.problem.mask
        if self.problem.optional:
            self.options["attn_mask"] = self.added()
            self.notes.append("the mask as a tensor")
            return False
        if self.name == "flash":
            self.problem.refuse_masks_beside("PyTorch's flash", "none", "causal")
        if mask.kind == "none":
            return False
        if mask.kind == "causal-upper-left" or mask.kind == "causal" and mask.diagonal == 0:
            self.options["is_causal"] = True
            return False
        if mask.kind != "causal" or self.name in ("cudnn", "math"):
            self.options["attn_mask"] = self.added()
            self.notes.append("the mask as a tensor")
            return False
        from torch.nn.attention.bias import causal_lower_right

        self.options["attn_mask"] = causal_lower_right(mask.queries, mask.keys)
        return True

    def forced(self):
        if self.backend is None:
            return contextlib.nullcontext()
        return torch.nn.attention.sdpa_kernel([self.backend])

    def call(self, tensors=None):
        tensors = tensors or self.problem.device
        return torch.nn.functional.scaled_dot_product_attention(tensors["q"], tensors["k"],
                                                                tensors["v"], **self.options)

    def choice(self):
        """The name of the backend that PyTorch's own rule takes for this call."""
        q, k, v = (self.problem.device[name] for name in "qkv")
        gqa = self.problem.gqa
        mask, causal = self.options.get("attn_mask"), self.options.get("is_causal", False)
        if self.lower_right:
            from torch.backends.cuda import (SDPAParams, can_use_efficient_attention,
                                             can_use_flash_attention)

            parameters = SDPAParams(q, k, v, None, 0.0, False, gqa)
            if can_use_flash_attention(parameters):
                return "flash"
            if can_use_efficient_attention(parameters):
                return "efficient"
            mask = self.problem.mask.tensor()
            causal = False
        more = {"enable_gqa": True} if gqa else {}
        number = torch._fused_sdp_choice(q, k, v, mask, 0.0, causal, **more)
        for name, constant in self.BACKENDS.items():
            backend = getattr(torch.nn.attention.SDPBackend, constant, None)
            if backend is not None and int(getattr(backend, "value", backend)) == number:
                return name
        return f"backend {number}"

    def first_run(self):
        """Shows that the forced backend can do the problem, and that no other one ran."""
        self.lower_right = self.set_mask()
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            try:
                with self.forced():
                    output = self.call()
                    torch.cuda.synchronize()
                    ran = self.choice()
            except RuntimeError as error:
                if out_of_memory(error):
                    raise
                reasons = [shortened(warning.message) for warning in said]
                reasons = [text for text in reasons if "runtime disabled" not in text
                           and not text.endswith("not used because:")]
                reasons = "; ".join([shortened(error)] + reasons)
                raise Refused(f"PyTorch's {self.name} cannot do this: {reasons}")
        if self.backend is not None and ran != self.name:
            raise Refused(f"PyTorch was told to use {self.name} and used {ran}")
        self.note_layout(output)
        return ran
