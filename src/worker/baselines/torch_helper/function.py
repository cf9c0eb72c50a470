"""function.py: Runs a function of the user's, named python:FILE:FUNCTION."""
import importlib.machinery
import importlib.util
import pathlib
import sys

import torch

from torch_helper.basics import Refused, in_time, out_of_memory, shortened
from torch_helper.contestant import Contestant

PREFIX = "python:"


def import_file(file):
    """The file as a module. It may import modules of its folder, which is searched last."""
    name = f"fatune_function_{file.stem}"
    module = sys.modules.get(name)
    if module is not None and module.__file__ == str(file):
        return module
    if not file.is_file():
        raise Refused(f"there is no file {file}", "environment")
    if str(file.parent) not in sys.path:
        sys.path.append(str(file.parent))
    loader = importlib.machinery.SourceFileLoader(name, str(file))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    sys.modules[name] = module
    try:
        loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise Refused(f"{file} cannot be imported: {type(error).__name__}: {shortened(error)}",
                      "environment")
    return module


class Function(Contestant):
    """FUNCTION(q, k, v, *, scale, causal, ...) returns out or (out, lse).

    q is (batch, heads, seq_q, head_dim), k and v are (batch, kv_heads, seq_kv, head_dim), with the
    strides of the problem's layout. A causal mask is aligned bottom-right. Some problems add
    keywords: lse=True, out_dtype, and q_descale, k_descale, v_descale of (batch, kv_heads). A mask
    that is neither none nor causal is the keyword mask, such as "causal-window:1024"; softcap is
    the keyword softcap.
    """

    def __init__(self, problem, name):
        file, _, self.title = name[len(PREFIX):].rpartition(":")
        file = pathlib.Path(file)
        self.function = getattr(import_file(file), self.title, None)
        if self.function is None:
            raise Refused(f"{file} has no function {self.title}", "environment")
        if not callable(self.function):
            raise Refused(f"{self.title} of {file} is a {type(self.function).__name__}, not a "
                          "function", "environment")
        self.library = f"PyTorch {torch.__version__}, {file.name}"
        scale = problem.shapes["q"][3] ** -0.5 if problem.scale is None else problem.scale
        self.options = {"scale": scale, "causal": problem.causal}
        if problem.mask.kind not in ("none", "causal"):
            self.options["mask"] = problem.mask.text
        if problem.softcap is not None:
            self.options["softcap"] = problem.softcap
        if problem.wants_lse:
            self.options["lse"] = True
        if problem.out_dtype != problem.dtype:
            self.options["out_dtype"] = problem.out_dtype
        super().__init__(problem, name)

    def call(self, tensors=None):
        tensors = tensors or self.problem.device
        factors = {name: tensors[name] for name in self.problem.factors}
        output = self.function(*(tensors[name] for name in "qkv"), **self.options, **factors)
        if isinstance(output, tuple) and output:
            output = output[0]
        self.check(output)
        return output

    def check(self, output):
        if not isinstance(output, torch.Tensor):
            raise Refused(f"{self.title} returned a {type(output).__name__}, not a tensor")
        shape, dtype = self.problem.shapes["out"], self.problem.out_dtype
        if tuple(output.shape) != shape:
            raise Refused(f"{self.title} returned the shape {tuple(output.shape)}, not {shape}")
        if output.dtype != dtype:
            raise Refused(f"{self.title} returned {output.dtype}, not {dtype}")
        if not output.is_cuda:
            raise Refused(f"{self.title} returned a tensor that is not on the GPU")

    def first_run(self):
        try:
            output = in_time(self.call, self.title)
            torch.cuda.synchronize()
        except Exception as error:
            if isinstance(error, Refused) or out_of_memory(error):
                raise
            raise Refused(f"{self.title} raised {type(error).__name__}: {shortened(error)}")
        self.note_layout(output)
        return self.title
