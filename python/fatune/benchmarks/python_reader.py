"""python_reader.py: Follows values through the syntax tree of a Python file; executes nothing of
it."""
from __future__ import annotations

import ast
import warnings
from typing import Any, Dict, List, NoReturn, Optional, Sequence, Tuple

from ..documents import fail
from ..errors import FatuneError
from .torch_values import Dotted, Tensor, is_number

_LARGEST_PYTHON = 64 << 10  # bytes; chosen
MOST_LISTED = 64
"""Values of a list; chosen, so that lists of lists stay small."""
_MOST_VALUES = 10_000  # of one run of a function with its file; chosen
_LARGEST_WHOLE = 2**63 - 1
FILLS = ("normal_", "uniform_", "random_")
"""Methods that draw numbers into their tensor."""
SEEDS = ("manual_seed", "manual_seed_all")
_IDLE_DECORATORS = ("torch.no_grad", "torch.inference_mode")
_IDLE_CONTEXTS = (*_IDLE_DECORATORS, "torch.nn.attention.sdpa_kernel", "utils.DeterministicContext")
_SCRIPT = ("__name__ == '__main__'", "'__main__' == __name__")
_SETTINGS = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Import, ast.ImportFrom, ast.If, ast.For,
             ast.Try, ast.Pass)
_FUNCTIONS = ("float", "int", "range", "list", "tuple")
_OPERATORS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//",
              ast.Mod: "%", ast.Pow: "**"}


def parse_python(text: str, where: str) -> List[ast.stmt]:
    """The statements of a file; it must be short and valid Python."""
    if len(text.encode("utf-8", "surrogatepass")) > _LARGEST_PYTHON:
        fail(where, f"holds more than {_LARGEST_PYTHON >> 10} KiB")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text).body
    except SyntaxError as error:
        fail(where, f"line {error.lineno}: is not valid Python: {error.msg}")
    except (ValueError, RecursionError, MemoryError) as error:
        fail(where, f"is not valid Python: {error or 'it is nested too deep'}")


def _names_set(statement: ast.stmt) -> List[str]:
    """The names that a statement sets, if it does nothing else."""
    nodes = list(ast.walk(statement))
    for each in nodes:
        if isinstance(each, ast.stmt) and not isinstance(each, _SETTINGS):
            return []
        if isinstance(each, (ast.Attribute, ast.Subscript)) and isinstance(each.ctx, ast.Store):
            return []
    imported = [each for each in nodes if isinstance(each, ast.alias)]
    return [each.id for each in nodes if isinstance(each, ast.Name) and isinstance(
        each.ctx, ast.Store)] + [each.asname or each.name.partition(".")[0] for each in imported]


def _first_line(node: ast.AST) -> str:
    return ast.unparse(node).splitlines()[0][:60]


class Reader:
    """Evaluates statements and expressions with the names known so far."""

    def __init__(self, where: str, names: Optional[Dict[str, Any]] = None) -> None:
        self.where, self.line, self.values = where, 1, 0
        self.names: Dict[str, Any] = dict(names or {})

    def wrong(self, what: str) -> NoReturn:
        fail(self.where, f"line {self.line}: {what}")

    def read_module(self, module: Sequence[ast.stmt]) -> None:
        """Takes imports and names of numbers; functions and classes are passed over. A name whose
        value is not understood is an error where it is used."""
        for each in module:
            self.line = each.lineno
            try:
                if isinstance(each, (ast.FunctionDef, ast.ClassDef)):
                    self.check_decorators(each)
                elif not self.binds(each) and not self.is_idle(each):
                    self.wrong(f"'{_first_line(each)}' is not understood")
            except FatuneError as error:
                names = _names_set(each)
                if not names:
                    raise
                self.names.update(dict.fromkeys(names, error))

    def check_decorators(self, block: "ast.FunctionDef | ast.ClassDef") -> None:
        for each in block.decorator_list:
            called = each.func if isinstance(each, ast.Call) else each
            if ast.unparse(called) not in _IDLE_DECORATORS:
                self.line = each.lineno
                self.wrong(f"'@{_first_line(each)}' is not understood")

    def binds(self, each: ast.stmt) -> bool:
        """Whether the statement is an import or an assignment, whose names are known then."""
        if isinstance(each, ast.Import):
            for alias in each.names:
                whole = alias.name if alias.asname else alias.name.partition(".")[0]
                self.names[alias.asname or whole] = Dotted(whole)
        elif isinstance(each, ast.ImportFrom):
            for alias in each.names:
                self.names[alias.asname or alias.name] = Dotted(f"{each.module or ''}.{alias.name}")
        elif isinstance(each, ast.Assign) and len(each.targets) == 1:
            self.assign(each.targets[0], self.value(each.value))
        elif isinstance(each, ast.AnnAssign) and each.value is not None:
            self.assign(each.target, self.value(each.value))
        else:
            return False
        return True

    def assign(self, target: ast.expr, value: Any) -> None:
        if isinstance(target, ast.Name):
            self.names[target.id] = value
            return
        names = target.elts if isinstance(target, (ast.Tuple, ast.List)) else []
        if not names or not all(isinstance(each, ast.Name) for each in names):
            self.wrong(f"'{_first_line(target)} =' is not understood")
        if not isinstance(value, list) or len(value) != len(names):
            self.wrong(f"it does not have {len(names)} values")
        for each, part in zip(names, value):
            self.assign(each, part)

    def is_idle(self, each: ast.stmt) -> bool:
        """Whether the statement changes no value: documentation, an assertion, a seed, a block
        of scripts."""
        if isinstance(each, ast.Expr):
            called = each.value.func if isinstance(each.value, ast.Call) else None
            if isinstance(called, ast.Name):
                return called.id == "print"
            return isinstance(each.value, ast.Constant) or (
                isinstance(called, ast.Attribute) and called.attr in SEEDS)
        if isinstance(each, ast.If):
            return ast.unparse(each.test) in _SCRIPT and not each.orelse
        return isinstance(each, (ast.Pass, ast.Assert))

    def run(self, function: ast.FunctionDef) -> Any:
        """Returns the function's value, computed from the known names."""
        self.check_decorators(function)
        found, value = self.returned(function.body)
        return value if found else self.wrong("nothing is returned behind it")

    def returned(self, body: Sequence[ast.stmt]) -> Tuple[bool, Any]:
        """Whether the statements return, and what."""
        for each in body:
            self.line = each.lineno
            if isinstance(each, ast.Return):
                return True, None if each.value is None else self.value(each.value)
            if isinstance(each, ast.With):
                self.check_contexts(each)
                found, value = self.returned(each.body)
                if found:
                    return found, value
            elif self.is_fill(each):
                if not self.value(each.value).made:
                    self.wrong("an argument is changed")
            elif not self.binds(each) and not self.is_idle(each):
                self.wrong(f"'{_first_line(each)}' is not understood")
        return False, None

    @staticmethod
    def is_fill(each: ast.stmt) -> bool:
        """Whether the statement draws numbers into a tensor."""
        called = each.value.func if isinstance(each, ast.Expr) and isinstance(each.value,
                                                                              ast.Call) else None
        return isinstance(called, ast.Attribute) and called.attr in FILLS

    def check_contexts(self, each: ast.With) -> None:
        for item in each.items:
            if not isinstance(item.context_expr, ast.Call):
                self.wrong("'with' is of no call")
            path = self.value(item.context_expr.func)
            if path not in _IDLE_CONTEXTS or item.optional_vars is not None:
                self.wrong(f"'with {_first_line(item.context_expr.func)}()' is not understood" if
                           not isinstance(path, Dotted) else f"'with {path}()' is not understood")

    def value(self, e: ast.expr) -> Any:
        self.values += 1
        if self.values > _MOST_VALUES:
            self.wrong(f"more than {_MOST_VALUES} values are computed")
        found = getattr(self, "_" + type(e).__name__.lower(), None)
        if found is None:
            self.wrong(f"'{_first_line(e)}' is not understood")
        return found(e)

    def _constant(self, e: ast.Constant) -> Any:
        if not isinstance(e.value, (type(None), bool, int, float, str)):
            self.wrong(f"'{_first_line(e)}' is not understood")
        if isinstance(e.value, int) and e.value > _LARGEST_WHOLE:
            self.wrong("a number is too large")
        return e.value

    def _name(self, e: ast.Name) -> Any:
        found = self.names.get(e.id)
        if isinstance(found, FatuneError):
            raise found
        if e.id in self.names:
            return found
        return Dotted(e.id) if e.id in _FUNCTIONS else self.wrong(f"'{e.id}' is not known here")

    def _list(self, e: "ast.List | ast.Tuple") -> List[Any]:
        return self.listed(e.elts)

    _tuple = _list

    def _dict(self, e: ast.Dict) -> List[Any]:
        return self.listed(e.values)

    def listed(self, parts: Sequence[ast.expr]) -> List[Any]:
        made: List[Any] = []
        for part in parts:
            one = self.value(part.value if isinstance(part, ast.Starred) else part)
            if isinstance(part, ast.Starred) and not isinstance(one, list):
                self.wrong(f"'{_first_line(part)}' is not understood")
            made += one if isinstance(part, ast.Starred) else [one]
            if len(made) > MOST_LISTED:
                break
        return self.limited(made)

    def _listcomp(self, e: "ast.ListComp | ast.GeneratorExp") -> List[Any]:
        inner, outer = e.generators[0], dict(self.names)
        over = self.value(inner.iter)
        if len(e.generators) > 1 or inner.ifs or not isinstance(over, list):
            self.wrong(f"'{_first_line(e)}' is not understood")
        made = []
        for each in over:
            self.assign(inner.target, each)
            made.append(self.value(e.elt))
        self.names = outer
        return self.limited(made)

    _generatorexp = _listcomp

    def limited(self, made: List[Any]) -> List[Any]:
        """The list, if it is short and flat enough."""
        if len(made) > MOST_LISTED:
            self.wrong("a list is too long")
        for each in made:
            if isinstance(each, list) and any(isinstance(part, list) for part in each):
                self.wrong("lists nest too deep")
        return made

    def _attribute(self, e: ast.Attribute) -> Any:
        owner = self.value(e.value)
        if isinstance(owner, Dotted):
            return Dotted(f"{owner}.{e.attr}")
        if isinstance(owner, Tensor):
            if e.attr == "shape":
                return list(owner.shape)
            if e.attr in ("dtype", "device"):
                return Dotted(f"torch.{owner.dtype}") if e.attr == "dtype" else ""
        return self.wrong(f"'.{e.attr}' is not understood")

    def dimension(self, at: Any, count: int) -> int:
        """The place of a dimension that is counted from either end."""
        if not is_number(at) or not isinstance(at, int) or not -count <= at < count:
            self.wrong("it names no dimension")
        return at % count

    def _subscript(self, e: ast.Subscript) -> Any:
        owner, at = self.value(e.value), self.value(e.slice)
        if not isinstance(owner, list) or not is_number(at):
            self.wrong("only sizes have an index")
        return owner[self.dimension(at, len(owner))]

    def _unaryop(self, e: ast.UnaryOp) -> Any:
        inner = self.value(e.operand)
        if not isinstance(e.op, ast.USub) or not is_number(inner):
            self.wrong("only numbers can be negated")
        return -inner

    def _binop(self, e: ast.BinOp) -> Any:
        left, right = self.value(e.left), self.value(e.right)
        word = _OPERATORS.get(type(e.op), _first_line(e))
        for made, number in ((left, right), (right, left)):
            if isinstance(made, Tensor) and made.made and is_number(number):
                return made  # other numbers in it, as good as these
        if isinstance(left, Tensor) or isinstance(right, Tensor):
            self.wrong(f"a tensor is part of '{word}': more than attention is computed")
        if word == "+" and isinstance(left, list) and isinstance(right, list):
            return self.limited(left + right)
        result = _computed(word, left, right) if is_number(left) and is_number(right) else None
        return self.wrong(f"'{word}' has no value") if result is None else result

    def arguments(self, e: ast.Call, parameters: Sequence[str]) -> List[Any]:
        """Arguments in the order of `parameters`; None for each that is not given."""
        given = self.listed(e.args)
        if len(given) > len(parameters):
            self.wrong("it has too many arguments")
        values = dict(zip(parameters, given))
        for keyword in e.keywords:
            if keyword.arg not in parameters:
                self.wrong(f"'{keyword.arg or '**'}=' is not understood")
            values[keyword.arg] = self.value(keyword.value)
        return [values.get(name) for name in parameters]

    def spread(self, parts: Sequence[ast.expr]) -> List[Any]:
        """Arguments, or the list that is the only one."""
        listed = self.listed(parts)
        return listed[0] if len(listed) == 1 and isinstance(listed[0], list) else listed

    def _call(self, e: ast.Call) -> Any:
        """Overridden where functions are known."""
        return self.wrong(f"'{_first_line(e)}' is not understood")


def _computed(word: str, a: Any, b: Any) -> Any:
    """The result of an operator on numbers; None where it has none of a usual size."""
    try:
        if word == "+":
            result = a + b
        elif word == "-":
            result = a - b
        elif word == "*":
            result = a * b
        elif word == "/":
            result = a / b
            result = int(result) if isinstance(a, int) and isinstance(
                b, int) and a % b == 0 else result
        elif word == "//":
            result = a // b
        elif word == "%":
            result = a % b
        elif word == "**" and abs(b) < 63 and abs(a) <= _LARGEST_WHOLE:
            result = a**b
        else:
            return None
        return float(result) if isinstance(result, int) and abs(result) > _LARGEST_WHOLE else (
            None if isinstance(result, complex) else result)
    except (ArithmeticError, ValueError):
        return None
