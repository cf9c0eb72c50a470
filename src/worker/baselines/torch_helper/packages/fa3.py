"""fa3.py: Runs FlashAttention-3's forward pass from vLLM's library."""
import importlib.util
import pathlib

import torch

from torch_helper.basics import Refused, installed, not_usable, out_of_memory, package, shortened
from torch_helper.contestant import Contestant
from torch_helper.measuring import shortest
from torch_helper.tokens import by_token, refuse_other_tokens, starts

TRIES = 3  # chosen: launches that decide between its two schedules


@package("fa3")
class FlashAttention3(Contestant):
    """Nothing else of vLLM is imported. vLLM's build takes tokens one behind the other only. It
    takes e4m3 inputs with their factors. Its schedule is planned once or by each launch, whichever
    is faster."""

    TITLE, PACKAGE, LIBRARY = "FlashAttention-3", "vllm", "vllm_flash_attn/_vllm_fa3_C*.so"
    OPTIONS = {"softcap": 0.0, "is_rotary_interleaved": True, "has_softcap": False,
               "max_seqlen_k_new": 0, "num_splits": 0, "sm_margin": 0, "cp_world_size": 1,
               "cp_rank": 0}  # num_splits: its own choice

    def __init__(self, problem, name):
        self.operations = self.load()
        self.library = f"{self.TITLE} of vLLM {installed(self.PACKAGE)}"
        self.schedule = None
        super().__init__(problem, name)

    @classmethod
    def load(cls):
        spec = importlib.util.find_spec(cls.PACKAGE)
        folders = (spec and spec.submodule_search_locations) or []
        found = next((file for folder in folders
                      for file in pathlib.Path(folder).glob(cls.LIBRARY)), None)
        try:
            if found is None:
                raise ImportError(f"there is no {cls.PACKAGE}/{cls.LIBRARY}")
            torch.ops.load_library(found)
        except Exception as error:
            raise not_usable(cls, error)
        return torch.ops._vllm_fa3_C

    def ask(self, operation, **values):
        """Passes arguments by their names, which differ between releases; a name without a value
        gets None."""
        names = [argument.name for argument in operation.default._schema.arguments]
        mask = self.problem.mask
        left, right = (-1 if side is None else side for side in (mask.before, mask.after))
        values = {**self.OPTIONS, **values, "is_causal": self.problem.causal,
                  "window_size_left": left, "window_size_right": right}
        return operation(*(values.get(name) for name in names))

    def lengths_of(self):
        batch, _, queries, _ = self.problem.shapes["q"]
        keys = self.problem.shapes["k"][2]
        return {"max_seqlen_q": queries, "max_seqlen_k": keys,
                "cu_seqlens_q": starts(batch, queries),
                "seqused_k": torch.full((batch,), keys, dtype=torch.int32, device="cuda")}

    def planned(self):
        batch, heads, _, head_dim = self.problem.shapes["q"]
        return self.ask(self.operations.get_scheduler_metadata, **self.lengths, batch_size=batch,
                        num_heads=heads, num_heads_k=self.problem.shapes["k"][1], headdim=head_dim,
                        headdim_v=head_dim, qkv_dtype=self.problem.dtype)

    def call(self, tensors=None):
        tensors, problem = tensors or self.problem.device, self.problem
        _, heads, rows, head_dim = problem.shapes["q"]
        scale = head_dim ** -0.5 if problem.scale is None else problem.scale
        output = self.ask(self.operations.fwd, **self.lengths, cu_seqlens_k=self.key_starts,
                          softmax_scale=scale, scheduler_metadata=self.schedule,
                          **{name: by_token(tensors[name]) for name in "qkv"},
                          **{name: tensors[name] for name in problem.factors})[0]
        return output.as_strided(problem.shapes["q"],
                                 (rows * heads * head_dim, head_dim, heads * head_dim, 1))

    def first_run(self):
        problem = self.problem
        refuse_other_tokens(problem, self.TITLE)
        problem.refuse_masks_beside(self.TITLE, "none", "causal", "window")
        self.lengths = self.lengths_of()
        self.key_starts = starts(problem.shapes["k"][0], problem.shapes["k"][2])
        try:
            output = self.call()
            torch.cuda.synchronize()
            own_us = shortest(self.call, TRIES)
            self.schedule = self.planned()
            planned_us = shortest(self.call, TRIES)
        except RuntimeError as error:
            if out_of_memory(error):
                raise
            raise Refused(f"{self.TITLE} cannot do this: {shortened(error)}")
        if own_us < planned_us:
            self.schedule = None
        self.note_layout(output)
        return "scheduled by each launch" if self.schedule is None else "scheduled once"
