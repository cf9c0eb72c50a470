"""function.py: Runs a function of the user's (python:FILE:FUNCTION) or an expression (torch:EXPR)."""
import importlib.machinery
import importlib.util
import pathlib
import sys

import torch

from torch_helper.basics import Refused, in_time, out_of_memory, shortened
from torch_helper.contestant import Contestant
from torch_helper.measuring import type_of

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
    """A function of the problem's inputs by position, and of its sizes by keyword, that returns its
    outputs in their order.

    For attention it is FUNCTION(q, k, v, *, scale, causal, ...), which returns out or (out, lse).
    q is (batch, heads, seq_q, head_dim), k and v are (batch, kv_heads, seq_kv, head_dim), with the
    strides of the problem's layout. A causal mask is aligned bottom-right. Some problems add
    keywords: lse=True, out_dtype, and q_descale, k_descale, v_descale of (batch, kv_heads). A mask
    that is neither none nor causal is the keyword mask, such as "causal-window:1024"; softcap is
    the keyword softcap.
    """

    def __init__(self, problem, name):
        self.function = self.find(problem, name)
        super().__init__(problem, name)

    def find(self, problem, name):
        file, _, self.title = name[len(PREFIX):].rpartition(":")
        file = pathlib.Path(file)
        function = getattr(import_file(file), self.title, None)
        if function is None:
            raise Refused(f"{file} has no function {self.title}", "environment")
        if not callable(function):
            raise Refused(f"{self.title} of {file} is a {type(function).__name__}, not a "
                          "function", "environment")
        self.library = f"PyTorch {torch.__version__}, {file.name}"
        return function

    def call(self, tensors=None):
        positions, keywords = self.problem.arguments(tensors or self.problem.device)
        with torch.no_grad():  # as for FlexAttention
            outputs = self.function(*positions, **keywords)
        if not isinstance(outputs, (tuple, list)):
            outputs = (outputs,)
        outputs = tuple(self.problem.judged(outputs, self.title))
        self.check(outputs)
        return outputs[0] if len(outputs) == 1 else outputs

    def check(self, outputs):
        wanted = self.problem.outs
        if len(outputs) != len(wanted):
            raise Refused(f"{self.title} returned {len(outputs)} outputs, not {len(wanted)}: "
                          f"{', '.join(wanted)}")
        for name, output in zip(wanted, outputs):
            said = f"{self.title} returned" if len(wanted) == 1 else f"{self.title} returned as {name}"
            if not isinstance(output, torch.Tensor):
                raise Refused(f"{said} a {type(output).__name__}, not a tensor")
            shape, dtype = self.problem.shapes[name], type_of(self.problem.words[name])
            if tuple(output.shape) != shape:
                raise Refused(f"{said} the shape {tuple(output.shape)}, not {shape}")
            if output.dtype != dtype:
                raise Refused(f"{said} {output.dtype}, not {dtype}")
            if output.device != self.problem.inputs.device:
                raise Refused(f"{said} a tensor that is not on the GPU")

    def first_run(self):
        try:
            outputs = in_time(self.outputs, self.title)
            torch.cuda.synchronize()
        except Exception as error:
            if isinstance(error, Refused) or out_of_memory(error):
                raise
            raise Refused(f"{self.title} raised {type(error).__name__}: {shortened(error)}")
        self.note_layout(*outputs)
        return self.title


class Expression(Function):
    """torch:EXPR of the inputs and sizes by their names, or torch.compile:EXPR."""

    MODE = "max-autotune-no-cudagraphs"  # the helper makes the graph

    def find(self, problem, name):
        how, _, text = name.partition(":")
        self.compiles = how == "torch.compile"
        self.title, self.library = "the expression", f"PyTorch {torch.__version__}"
        names = [*problem.places, *problem.sizes]
        self.known = ", ".join([*names, "torch", "F"])
        try:
            return eval(f"lambda {', '.join(names)}: ({text})",
                        {"torch": torch, "F": torch.nn.functional})
        except SyntaxError as error:
            raise Refused(f"'{text}' is no expression of Python: {error.msg}")

    def call(self, tensors=None):
        try:
            return super().call(tensors)
        except NameError as error:
            raise Refused(f"{self.title}: {error}; it may use {self.known}")

    def first_run(self):
        """Runs it as it is, which tells its faults, before it is compiled."""
        super().first_run()
        if not self.compiles:
            return "an expression"
        self.title = "torch.compile"
        self.function = torch.compile(self.function, dynamic=False, fullgraph=True, mode=self.MODE)
        self.notes.clear()
        super().first_run()
        return f"torch.compile {self.MODE}"
