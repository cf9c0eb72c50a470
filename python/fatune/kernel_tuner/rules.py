"""rules.py: Turns a script's rules, as text or Python functions, into expressions of manifests."""
from __future__ import annotations

import ast
import inspect
import textwrap
from typing import Any, Callable, Dict, List, Mapping, Sequence, Tuple

from ..errors import USAGE, FatuneError

Divisors = Tuple[List[str], List[str]]  # factors above and below


def text_of(rule: Any, what: str, parameters: Mapping[str, Any]) -> str:
    """Returns the expression of a rule: a text, a number, or a function of a config."""
    if callable(rule):
        return _function_text(rule, what, parameters)
    if isinstance(rule, (str, int)) or hasattr(rule, "dtype"):
        return str(rule)
    raise FatuneError(f"{what} is {rule!r}; a text, a number or a function is known", USAGE)


def grid_expression(size: str, divisors: Sequence[str]) -> str:
    """Returns how many blocks cover a size. Each divisor is a Python expression; its divisions are
    of real numbers, as in Kernel Tuner."""
    above, below = [], []
    for divisor in divisors:
        more_above, more_below = _factors(ast.parse(divisor, mode="eval").body)
        above += more_above
        below += more_below
    covered = " * ".join([f"({size})", *below])
    return f"ceil_div({covered}, {' * '.join(above)})" if above else covered


def holds(rule: str, config: Mapping[str, Any]) -> bool:
    """Whether a rule's text is true of a config. Raises FatuneError (2) for one without a value."""
    try:
        return bool(eval(rule, {"__builtins__": {"min": min, "max": max, "int": int, "abs": abs}},
                         dict(config)))
    except Exception as error:
        raise FatuneError(f"the restriction {rule} has no value: {error}", USAGE) from error


def _factors(node: ast.expr) -> Divisors:
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Mult, ast.Div)):
        (left_above, left_below), (above, below) = _factors(node.left), _factors(node.right)
        if isinstance(node.op, ast.Div):
            above, below = below, above
        return left_above + above, left_below + below
    return [f"({ast.unparse(node)})"], []


def _function_text(function: Callable[..., Any], what: str, parameters: Mapping[str, Any]) -> str:
    """Returns the expression that a function of one config returns, from its source."""
    node = _only_function(function, what)
    names = [each.arg for each in node.args.args]
    if len(names) != 1:
        raise FatuneError(f"{what} is a function of {len(names)} arguments; of one, a config, is "
                          "known", USAGE)
    body: Any = node.body
    if isinstance(body, list):
        if len(body) != 1 or not isinstance(body[0], ast.Return) or body[0].value is None:
            raise FatuneError(f"{what} is a function of several statements; a single return is "
                              "known", USAGE)
        body = body[0].value
    known = inspect.getclosurevars(function)
    renamed = _Parameters(names[0], {**known.globals, **known.nonlocals}, what, parameters)
    return ast.unparse(renamed.visit(body))


def _only_function(function: Callable[..., Any], what: str) -> Any:
    try:
        lines, _ = inspect.getsourcelines(function)
        source = textwrap.dedent("".join(lines)).strip()
        tree = _parsed(source)
    except (OSError, TypeError, SyntaxError) as error:
        raise FatuneError(f"{what} is a function whose source cannot be read: {error}",
                          USAGE) from error
    found = [node for node in ast.walk(tree) if isinstance(node, (ast.Lambda, ast.FunctionDef))]
    if len(found) != 1:
        raise FatuneError(f"{what} is one of {len(found)} functions on its line; give it a line of "
                          "its own", USAGE)
    return found[0]


def _parsed(source: str) -> ast.AST:
    """Parses a statement, or the end of one that began on a line before."""
    try:
        return ast.parse(source)
    except SyntaxError:
        start = source.index("lambda")
        for end in range(len(source), start, -1):
            try:
                return ast.parse(source[start:end], mode="eval")
            except SyntaxError:
                continue
        raise


class _Parameters(ast.NodeTransformer):
    """Writes config["name"] as name, and the numbers that a function holds as numbers."""

    def __init__(self, config: str, held: Dict[str, Any], what: str,
                 parameters: Mapping[str, Any]) -> None:
        self.config, self.held, self.what, self.parameters = config, held, what, parameters

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        if (isinstance(node.value, ast.Name) and node.value.id == self.config
                and isinstance(node.slice, ast.Constant) and node.slice.value in self.parameters):
            return ast.Name(str(node.slice.value), ast.Load())
        raise FatuneError(f"{self.what} has {ast.unparse(node)}, which is no parameter", USAGE)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        if isinstance(node.value, ast.Name) and node.value.id == self.config:
            return ast.Name(node.attr, ast.Load())
        raise FatuneError(f"{self.what} has {ast.unparse(node)}, which is no parameter", USAGE)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        value = self.held.get(node.id)
        return ast.Constant(int(value)) if isinstance(value, int) or hasattr(
            value, "dtype") and not getattr(value, "shape", None) else node
