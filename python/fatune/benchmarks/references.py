"""references.py: Finds the attention problem that a reference in PyTorch states."""
from __future__ import annotations

import ast
import dataclasses
import math
from typing import Any, Dict, List, Optional, Sequence

from ..documents import fail
from .problems import Problem, dense_strides, dtype_of_torch, layout_text
from .python_reader import FILLS, MOST_LISTED, SEEDS, Reader
from .torch_values import Dotted, LowerRight, Tensor, is_number, tensor

_SCALE_ERROR = 1e-5  # relative; a scale is often written in fp32
_PRECISE = ("torch.float32", "torch.float64", "torch.float", "torch.double")
_MAKERS = tuple(f"torch.{name}" for name in ("rand", "randn", "zeros", "ones", "empty"))
_LIKES = tuple(f"{name}_like"
               for name in ("torch.rand", "torch.randn", "torch.zeros", "torch.empty"))


def find_function(body: Sequence[ast.stmt], name: str) -> Optional[ast.FunctionDef]:
    """The function of this name among the statements."""
    return next((each for each in body if isinstance(each, ast.FunctionDef) and each.name == name),
                None)


def _parameters(function: ast.FunctionDef) -> List[str]:
    taken = function.args
    extra = [each for each in (taken.vararg, taken.kwarg) if each]
    return [each.arg for each in (*taken.posonlyargs, *taken.args, *taken.kwonlyargs, *extra)]


class TorchReader(Reader):
    """Knows the functions of PyTorch that a reference of attention needs."""

    def _call(self, e: ast.Call) -> Any:
        if isinstance(e.func, ast.Attribute):
            owner = self.value(e.func.value)
            if isinstance(owner, Tensor):
                return self.method(owner, e.func.attr, e)
        path = self.value(e.func)
        if not isinstance(path, Dotted):
            self.wrong("the function that is called is not understood")
        if path == "torch.Generator" or path.rpartition(".")[2] in SEEDS:
            return path
        if path == "torch.device":
            return ""
        if path == "torch.nn.functional.scaled_dot_product_attention":
            return self.attention(e)
        if path == "torch.nn.attention.bias.causal_lower_right":
            lengths = self.arguments(e, ("seq_len_q", "seq_len_kv"))
            if not all(is_number(each) and isinstance(each, int) for each in lengths):
                self.wrong("causal_lower_right() wants two lengths")
            return LowerRight(*lengths)
        if path in ("math.sqrt", "float"):
            number, = self.arguments(e, ("x",))
            if not is_number(number) or number < 0:
                self.wrong(f"{path}() wants a number")
            return float(number) if path == "float" else math.sqrt(number)
        if path in ("range", "list", "tuple"):
            return self.limited(self.numbered(e) if path == "range" else self.spread(e.args))
        if path in _MAKERS:
            return self.made_tensor(e)
        if path in _LIKES:
            like, = self.arguments(e, ("input",))
            return like if isinstance(like, Tensor) and like.made else self.wrong(
                "a tensor is made like one that is none")
        return self.wrong(f"{path}() is called: more than attention is computed")

    def numbered(self, e: ast.Call) -> List[Any]:
        """The numbers of a range()."""
        bounds = self.listed(e.args)
        if not 1 <= len(bounds) <= 3 or any(type(each) is not int for each in bounds) or (
                bounds[2:] == [0]):
            self.wrong("range() wants whole numbers")
        return list(range(*bounds)[:MOST_LISTED + 1])

    def made_tensor(self, e: ast.Call) -> Tensor:
        sizes = self.spread(e.args)
        if not all(is_number(each) and isinstance(each, int) for each in sizes):
            self.wrong("a size of a tensor is not a whole number")
        dtype = "float32"
        for keyword in e.keywords:
            value = self.value(keyword.value)
            if keyword.arg == "dtype" and isinstance(value, Dotted):
                dtype = value.rpartition(".")[2]
            elif keyword.arg not in ("device", "requires_grad", "generator"):
                self.wrong(f"'{keyword.arg or '**'}=' is not understood")
        return tensor(sizes, dtype)

    def method(self, owner: Tensor, name: str, e: ast.Call) -> Any:
        """The tensor with its dimensions in another order or of another precision, or a size of it.
        """
        count, bare = len(owner.shape), not e.args and not e.keywords
        if name == "size":
            at = self.arguments(e, ("dim",))[0]
            return list(owner.shape) if bare else owner.shape[self.dimension(at, count)]
        if name == "transpose":
            a, b = (self.dimension(at, count) for at in self.arguments(e, ("dim0", "dim1")))
            order = list(range(count))
            order[a], order[b] = b, a
            return owner.permuted(order)
        if name == "permute":
            order = [self.dimension(at, count) for at in self.spread(e.args)]
            if e.keywords or sorted(order) != list(range(count)):
                self.wrong("permute() of other dimensions")
            return owner.permuted(order)
        if bare and owner.made and name in ("half", "bfloat16"):
            return dataclasses.replace(owner, dtype="float16" if name == "half" else name)
        if bare and name in ("float", "double", "cuda"):
            return owner
        if bare and name == "contiguous":
            return self.contiguous(owner)
        if owner.made and name in FILLS:
            return owner
        if name == "to":
            return self.converted(owner, e)
        return self.wrong(f".{name}() of a tensor is called: more than attention is computed")

    def contiguous(self, owner: Tensor) -> Tensor:
        if owner.made:
            return tensor(owner.shape, owner.dtype)
        if owner.problem is None and list(owner.order) != sorted(owner.order):
            self.wrong(".contiguous() copies an argument; a kernel reads it where it lies")
        return owner  # a kernel writes the output wherever it is asked for

    def converted(self, owner: Tensor, e: ast.Call) -> Tensor:
        """The tensor in more precision, or in an element type that the argument or the output has.
        """
        first, second = self.arguments(e, ("dtype", "device"))
        moved = isinstance(first, str) and not isinstance(first, Dotted)
        dtype = second if moved else first
        if dtype is None:
            return owner
        if owner.made and isinstance(dtype, Dotted):
            return dataclasses.replace(owner, dtype=dtype.rpartition(".")[2])
        precise = dtype in _PRECISE
        known = isinstance(dtype, Dotted) and (precise or dtype_of_torch(dtype.rpartition(".")[2]))
        if not known or (owner.problem is None and not precise and dtype != f"torch.{owner.dtype}"):
            self.wrong(f".to({dtype}) is not understood")
        return owner

    def attention(self, e: ast.Call) -> Tensor:
        q, k, v, mask, dropout, causal, scale, grouped = self.arguments(
            e,
            ("query", "key", "value", "attn_mask", "dropout_p", "is_causal", "scale", "enable_gqa"))
        for each in (q, k, v):
            if not isinstance(each, Tensor) or each.problem is not None:
                self.wrong("query, key and value are not three arguments as they are given")
            if not each.origin:
                self.wrong("attention is of a tensor that is made here")
            if len(each.shape) != 4:
                self.wrong(f"{each.origin} has {len(each.shape)} dimensions, not 4")
        if len({q.origin, k.origin, v.origin}) < 3:
            self.wrong("query, key and value are not three tensors")
        if k.shape != v.shape or k.shape[0] != q.shape[0] or k.shape[3] != q.shape[3]:
            self.wrong("q, k and v differ in batch or head_dim, or k and v in their sizes")
        for each in (q, k, v):
            if each.order[3] != 3:
                self.wrong(f"{each.origin}'s columns do not lie side by side")
        problem = Problem(q.shape[0], q.shape[1], k.shape[1], q.shape[2], k.shape[2], q.shape[3])
        problem = self.scaled(problem, scale)
        if problem.fault():
            self.wrong(str(problem.fault()))
        problem = dataclasses.replace(problem, mask="causal" if self.is_causal(mask, causal, problem) else "none")
        if dropout is not None and (not is_number(dropout) or dropout != 0):
            self.wrong("dropout_p= is not 0")
        if problem.heads != problem.kv_heads and grouped is not True:
            self.wrong("k and v have other heads than q, without enable_gqa=True")
        strides = {name: each.strides() for name, each in (("q", q), ("k", k), ("v", v))}
        return Tensor(q.shape, (0, 1, 2, 3), q.dtype, "", problem, strides)

    def scaled(self, problem: Problem, scale: Any) -> Problem:
        if scale is None:
            return problem
        if not is_number(scale):
            self.wrong("scale= is no number")
        if problem.head_dim < 1:
            self.wrong(str(problem.fault()))
        usual = problem.default_scale()
        near = abs(scale - usual) <= _SCALE_ERROR * usual
        return problem if near else dataclasses.replace(problem, scale=float(scale))

    def is_causal(self, mask: Any, causal: Any, problem: Problem) -> bool:
        if causal not in (None, True, False) or is_number(causal):
            self.wrong("is_causal= is neither True nor False")
        if isinstance(mask, LowerRight) and not causal:
            if (mask.seq_q, mask.seq_kv) != (problem.seq_q, problem.seq_kv):
                self.wrong("causal_lower_right() has other lengths than q and k")
            return True
        if mask is not None:
            self.wrong("attn_mask= is given: no mask but causal is known")
        if causal and problem.seq_q != problem.seq_kv:
            self.wrong(
                "is_causal=True aligns the mask with the first key where q and k have different "
                "lengths; fatune aligns it with the last, as causal_lower_right() does")
        return bool(causal)


def attention_of(function: ast.FunctionDef, arguments: Sequence[Any], module: Sequence[ast.stmt],
                 where: str) -> Problem:
    """The problem of a function that returns scaled_dot_product_attention of its arguments.

    `arguments` are tensors, numbers and lists of both; `module` is the file around the function.
    The element type of the result is left as it is. Raises FatuneError (4) with the line and the
    reason.
    """
    try:
        reader, names = TorchReader(where), _parameters(function)
        reader.read_module(module)
        if len(names) != len(arguments):
            given = "one argument is" if len(arguments) == 1 else f"{len(arguments)} arguments are"
            have = "1 parameter" if len(names) == 1 else f"{len(names)} parameters"
            fail(where, f"{function.name}() has {have}, but {given} given")
        reader.names.update(zip(names, arguments))
        out = reader.run(function)
        if isinstance(out, list) and len(out) == 1:
            out = out[0]
        if not isinstance(out, Tensor) or out.problem is None:
            reader.wrong("what is returned is not attention's output alone")
        return _laid_out(out, reader)
    except RecursionError:
        fail(where, "its expressions are nested too deep")


def _laid_out(out: Tensor, reader: TorchReader) -> Problem:
    """The problem with the layouts of its tensors; the output lies as it is returned."""
    assert out.problem is not None
    stored = dense_strides(out.shape)
    strides = [stored[out.order.index(i)] for i in range(4)]
    if strides[3] != 1 or out.order[3] != 3:
        reader.wrong("the output's columns do not lie side by side")
    text, fault = layout_text({**out.layouts, "out": strides}, out.problem)
    return reader.wrong(fault) if fault else dataclasses.replace(out.problem, layout=text)


def made_by(function: ast.FunctionDef, sizes: Dict[str, int], module: Sequence[ast.stmt],
            where: str) -> List[Any]:
    """Tensors and numbers that a function returns when it is called with whole numbers by name."""
    try:
        reader = TorchReader(where)
        reader.read_module(module)
        reader.names.update(sizes)
        out = reader.run(function)
        made = out if isinstance(out, list) else [out]
        for number, each in enumerate(made):
            if isinstance(each, Tensor) and each.made:
                made[number] = dataclasses.replace(each, origin=f"argument {number + 1}")
            elif not is_number(each):
                reader.wrong(f"{function.name}() returns other things than tensors and numbers")
        return list(made)
    except RecursionError:
        fail(where, "its expressions are nested too deep")


def whole_value(text: str, names: Dict[str, int], where: str) -> int:
    """The value of an expression of whole numbers and names."""
    try:
        value = TorchReader(where, names).value(ast.parse(text.strip(), mode="eval").body)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        fail(where, "is no expression of numbers and names")
    return value if isinstance(value, int) and is_number(value) else fail(
        where, "is not a whole number")
