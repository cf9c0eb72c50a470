"""flashinfer.py: Runs FlashInfer by its fastest way for the problem."""
import torch

from torch_helper.basics import (Refused, import_package, in_time, out_of_memory, package,
                                 shortened)
from torch_helper.contestant import Contestant
from torch_helper.measuring import shortest
from torch_helper.tokens import by_token, refuse_other_tokens, starts

TRIES = 3  # chosen: launches that decide between its ways


@package("flashinfer")
class FlashInfer(Contestant):
    """A way is planned once and launched plainly. In a layer, whose products are launched plainly,
    it may begin early. Its kernels take tokens one behind the other; a batch in another layout is
    refused."""

    TITLE, PACKAGE, MODULE = "FlashInfer", "flashinfer-python", "flashinfer"
    WORKSPACE_BYTES = 128 << 20  # as its documentation advises

    @classmethod
    def load(cls):
        return import_package(cls)

    def __init__(self, problem, name):
        self.module = self.load()
        self.library = f"{self.TITLE} {self.module.__version__}"
        self.run_way = None
        self.mask_options = self.options_of(problem)
        super().__init__(problem, name)

    def options_of(self, problem):
        """Its windows have a left side alone, and end as a causal mask does."""
        mask = problem.mask
        problem.refuse_masks_beside(self.TITLE, "none", "causal", "window")
        if mask.kind == "window" and mask.after != 0:
            raise Refused("FlashInfer cannot do this: of windows it takes causal ones, not "
                          f"{mask.text}", "infeasible")
        return {"causal": mask.kind != "none",
                "window_left": -1 if mask.before is None else mask.before}

    def call(self, tensors=None):
        return self.run_way(tensors or self.problem.device, False)

    def call_in_layer(self, tensors=None):
        return self.run_way(tensors or self.problem.device, True)

    def first_run(self):
        """Runs each way once, then some launches for its time."""
        best, refusals = None, []
        for name, make in self.ways().items():
            try:
                self.run_way = in_time(make, self.TITLE)
                output = self.call()
                torch.cuda.synchronize()
                each_us = shortest(self.call, TRIES)
            except Exception as error:
                if isinstance(error, Refused) or out_of_memory(error):
                    raise
                refusals.append(f"{name}: {shortened(error)}")
                continue
            if best is None or each_us < best[0]:
                best = (each_us, name, self.run_way, output)
        if best is None:
            raise Refused(f"FlashInfer cannot do this: {'; '.join(refusals)}")
        self.run_way = best[2]
        self.note_layout(best[3])
        return best[1]

    def ways(self):
        """Functions that plan, by name. Each returns a function of tensors and of whether it may
        begin early."""
        if self.problem.shapes["q"][2] == 1:
            return {"decode": lambda: self.decode(False),
                    "decode on tensor cores": lambda: self.decode(True)}
        backends = ["fa2"]
        if torch.cuda.get_device_capability(0) == (9, 0):
            backends.insert(0, "fa3")
        return {backend: lambda backend=backend: self.prefill(backend) for backend in backends}

    def workspace(self):
        return torch.zeros(self.WORKSPACE_BYTES, dtype=torch.uint8, device="cuda")

    def prefill(self, backend):
        batch, heads, queries, head_dim = self.problem.shapes["q"]
        _, kv_heads, keys, _ = self.problem.shapes["k"]
        refuse_other_tokens(self.problem, self.TITLE)
        wrapper = self.module.BatchPrefillWithRaggedKVCacheWrapper(self.workspace(), "NHD",
                                                                   backend=backend)
        wrapper.plan(starts(batch, queries), starts(batch, keys), heads, kv_heads, head_dim,
                     q_data_type=self.problem.dtype, **self.mask_options)

        def run(tensors, begins_early):
            output = wrapper.run(*(by_token(tensors[name]) for name in "qkv"),
                                 enable_pdl=begins_early)
            return output.as_strided((batch, heads, queries, head_dim),
                                     (queries * heads * head_dim, head_dim, heads * head_dim, 1))

        return run

    def decode(self, tensor_cores):
        """Keys as pages of a few tokens. A layout fits if its batch entries are whole pages
        apart."""
        batch, heads, _, head_dim = self.problem.shapes["q"]
        _, kv_heads, keys, _ = self.problem.shapes["k"]
        stride = self.problem.strides["k"]
        if stride != self.problem.strides["v"]:
            raise Refused("FlashInfer cannot do this: its keys and values have the same strides",
                          "infeasible")
        page = next((page for page in (16, 8, 4, 2, 1) if keys % page == 0
                     and (batch == 1 or stride[0] % (page * stride[2]) == 0)), None)
        if page is None:
            raise Refused("FlashInfer cannot do this: a batch entry's keys begin between two rows",
                          "infeasible")
        pages = keys // page
        apart = pages if batch == 1 else stride[0] // (page * stride[2])
        first = torch.arange(batch, dtype=torch.int32, device="cuda") * apart
        within = torch.arange(pages, dtype=torch.int32, device="cuda")
        indices = (first[:, None] + within).reshape(-1)
        wrapper = self.module.BatchDecodeWithPagedKVCacheWrapper(
            self.workspace(), "NHD", use_tensor_cores=tensor_cores,
            backend="fa2" if tensor_cores else "auto")
        last_page = torch.full((batch,), page, dtype=torch.int32, device="cuda")
        wrapper.plan(starts(batch, pages), indices, last_page, heads, kv_heads, head_dim, page,
                     q_data_type=self.problem.dtype, kv_data_type=self.problem.dtype,
                     window_left=self.mask_options["window_left"])

        def paged(tensor):
            return tensor.as_strided(((batch - 1) * apart + pages, page, kv_heads, head_dim),
                                     (page * stride[2], stride[2], stride[1], 1))

        def run(tensors, begins_early):
            q = tensors["q"]
            q = q.as_strided((batch, heads, head_dim), (q.stride()[0], q.stride()[1], 1))
            output = wrapper.run(q, (paged(tensors["k"]), paged(tensors["v"])),
                                 enable_pdl=begins_early)
            return output.as_strided((batch, heads, 1, head_dim),
                                     (heads * head_dim, head_dim, head_dim, 1))

        return run
