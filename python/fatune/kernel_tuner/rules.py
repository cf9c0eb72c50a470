"""rules.py: Turns a script's rules, as text or Python functions, into expressions of manifests."""
from __future__ import annotations

import ast
import functools
import inspect
import textwrap
from typing import Any, Callable, Dict, List, Mapping, Sequence, Tuple

from ..errors import USAGE, FatuneError
from .tables import expression_of, tabulated

Divisors = Tuple[List[str], List[str]]  # factors above and below
_FUNCTIONS = {"min": min, "max": max, "abs": abs, "int": int, "float": float, "round": round}
_SAID = (ast.Expression, ast.BoolOp, ast.And, ast.Or, ast.Compare, ast.Eq, ast.NotEq, ast.Lt,
         ast.LtE, ast.Gt, ast.GtE, ast.In, ast.NotIn, ast.BinOp, ast.Add, ast.Sub, ast.Mult,
         ast.Div, ast.FloorDiv, ast.Mod, ast.Pow, ast.LShift, ast.RShift, ast.UnaryOp, ast.USub,
         ast.Not, ast.Tuple, ast.List, ast.Name, ast.Load, ast.Constant, ast.Call)
"""The syntax that expressions of manifests have, too."""


class _Unsaid(Exception):
    """Tells that no expression says a rule as it is written."""


def text_of(rule: Any, what: str, parameters: Mapping[str, Sequence[Any]],
            said: Mapping[str, Any]) -> str:
    """Returns the expression of a rule: a text, a number, or a function of a config.

    The expression uses the names in `said`. A rule that it cannot say is tried for each combination
    of the parameters that the rule reads.
    """
    if isinstance(rule, str):
        node: Callable[[], ast.AST] = functools.partial(_parsed_text, rule, what)
    elif callable(rule):
        node = functools.partial(_function_node, rule, parameters)
    elif isinstance(rule, (int, float)) or hasattr(rule, "dtype"):
        return str(rule)
    else:
        raise FatuneError(f"{what} is {rule!r}; a text, a number or a function is known", USAGE)
    try:
        return _checked(node(), said)
    except _Unsaid:
        table = tabulated(function_of_rule(rule, parameters), what, parameters)
        return expression_of(table, what, parameters)


def function_of_rule(rule: Any, parameters: Mapping[str, Any]) -> Callable[[Any], Any]:
    """Returns the function of one config that stands for a rule."""
    if not callable(rule):
        code = compile(str(rule).strip(), "<rule>", "eval")
        return lambda config: eval(code, {"__builtins__": _FUNCTIONS}, config)
    names = list(inspect.signature(rule).parameters)
    if len(names) == 1 and names[0] not in parameters:
        return rule
    return lambda config: rule(**{name: config[name] for name in names})


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
    """Whether an expression that text_of() returned is true of a config."""
    return bool(eval(_compiled(rule), {"__builtins__": _FUNCTIONS}, dict(config)))


@functools.lru_cache(maxsize=None)
def _compiled(rule: str) -> Any:
    return compile(rule, "<rule>", "eval")


def _factors(node: ast.expr) -> Divisors:
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Mult, ast.Div)):
        (left_above, left_below), (above, below) = _factors(node.left), _factors(node.right)
        if isinstance(node.op, ast.Div):
            above, below = below, above
        return left_above + above, left_below + below
    return [f"({ast.unparse(node)})"], []


def _parsed_text(rule: str, what: str) -> ast.AST:
    try:
        return ast.parse(rule.strip(), mode="eval")
    except SyntaxError as error:
        raise FatuneError(f"{what} is no expression of Python: {error.msg}", USAGE) from error


def _function_node(function: Callable[..., Any], parameters: Mapping[str, Any]) -> ast.AST:
    """Returns what a function of one config returns, from its source. Raises _Unsaid."""
    node = _only_function(function)
    names = [each.arg for each in node.args.args]
    body: Any = node.body
    if isinstance(body, list):
        if len(body) != 1 or not isinstance(body[0], ast.Return):
            raise _Unsaid
        body = body[0].value
    known = inspect.getclosurevars(function)
    one = len(names) == 1 and names[0] not in parameters
    renamed = _Parameters(names[0] if one else "", {**known.globals, **known.nonlocals})
    return renamed.visit(ast.Expression(body))


def _only_function(function: Callable[..., Any]) -> Any:
    try:
        lines, _ = inspect.getsourcelines(function)
        tree = _parsed(textwrap.dedent("".join(lines)).strip())
    except (OSError, TypeError, SyntaxError, ValueError) as error:
        raise _Unsaid from error
    found = [node for node in ast.walk(tree) if isinstance(node, (ast.Lambda, ast.FunctionDef))]
    if len(found) != 1:
        raise _Unsaid
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

    def __init__(self, config: str, held: Dict[str, Any]) -> None:
        self.config, self.held = config, held

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        if (isinstance(node.value, ast.Name) and node.value.id == self.config
                and isinstance(node.slice, ast.Constant)):
            return ast.Name(str(node.slice.value), ast.Load())
        raise _Unsaid

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        if isinstance(node.value, ast.Name) and node.value.id == self.config:
            return ast.Name(node.attr, ast.Load())
        raise _Unsaid

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if node.id not in self.held:
            return node
        value = self.held[node.id]
        is_scalar = hasattr(value, "dtype") and not getattr(value, "shape", ())
        item = value.item() if is_scalar else value
        if not isinstance(item, (int, float)):
            raise _Unsaid
        return ast.Constant(item)


def _checked(tree: ast.AST, said: Mapping[str, Any]) -> str:
    """Returns the text of what expressions of manifests can say. Raises _Unsaid."""
    functions = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    for node in ast.walk(tree):
        unknown = not isinstance(node, _SAID)
        if isinstance(node, ast.Call):
            unknown = getattr(node.func, "id", "") not in ("min", "max", "abs", "int")
        elif isinstance(node, ast.Name):
            unknown = id(node) not in functions and node.id not in said
        elif isinstance(node, ast.Constant):
            unknown = not isinstance(node.value, (int, float))
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
            unknown = any(isinstance(each, (ast.Sub, ast.USub)) for each in ast.walk(node))
        if unknown:
            raise _Unsaid
    return ast.unparse(ast.fix_missing_locations(tree))
