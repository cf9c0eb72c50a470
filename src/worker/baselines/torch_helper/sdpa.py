"""sdpa.py: Runs one backend of PyTorch's scaled_dot_product_attention, or PyTorch's own choice."""
import contextlib
import warnings

import torch

from torch_helper.basics import Refused, out_of_memory, shortened
from torch_helper.contestant import Contestant


class Sdpa(Contestant):
    BACKENDS = {"flash": "FLASH_ATTENTION", "cudnn": "CUDNN_ATTENTION",
                "efficient": "EFFICIENT_ATTENTION", "math": "MATH"}

    def __init__(self, problem, name):
        self.backend = None
        if name != "auto":
            self.backend = getattr(torch.nn.attention.SDPBackend, self.BACKENDS[name], None)
            if self.backend is None:
                raise Refused(f"PyTorch {torch.__version__} has no backend {name}; a newer one has",
                              "environment")
        self.options = {"dropout_p": 0.0}
        if problem.scale is not None:
            self.options["scale"] = problem.scale
        if problem.gqa:
            self.options["enable_gqa"] = True
        super().__init__(problem, name)

    def set_mask(self):
        """Sets the options of the mask; true for the bias that only fused kernels understand.

        is_causal is aligned top-left, and "causal" bottom-right, which are equal for a square. For
        others, flash, efficient and auto take causal_lower_right. All else is a mask of booleans.
        """
        mask = self.problem.mask
        if self.name == "flash":
            self.problem.refuse_masks_beside("PyTorch's flash", "none", "causal")
        if mask.kind == "none":
            return False
        if mask.kind == "causal-upper-left" or mask.kind == "causal" and mask.diagonal == 0:
            self.options["is_causal"] = True
            return False
        if mask.kind != "causal" or self.name in ("cudnn", "math"):
            self.options["attn_mask"] = mask.tensor()
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
