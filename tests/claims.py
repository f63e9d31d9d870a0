"""What a test asserts: the numbers inside its assertions and in what these compare."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

TESTS = Path(__file__).parent
NUMBER = re.compile(r"(?<![\w.])[-−]?\d+(?:\.\d+)?(?:e-?\d+)?(?![\w½])")
TOLERANCES = {"abs", "atol", "decimals", "rel", "rtol"}
WRITTEN_OUT = {"approx", "array", "enumerate", "items", "slice", "sqrt", "zip"}
"""Calls whose value is what is written in them."""


@cache
def definitions(file: str) -> dict[str, ast.stmt]:
    """Return what a file of tests defines, by name, with what it takes from other such files."""
    found: dict[str, ast.stmt] = {}
    for node in ast.parse(next(TESTS.rglob(file)).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found[node.name] = node
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            found |= dict.fromkeys(names_in(*targets(node)), node)
        elif isinstance(node, ast.ImportFrom) and node.module == "tests":
            for alias in node.names:  # whose members are named with a dot
                found |= definitions(f"{alias.name}.py")
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tests."):
            other = definitions(f"{str(node.module).rpartition('.')[2]}.py")
            found |= {alias.name: other[alias.name] for alias in node.names if alias.name in other}
    return found


def reached(known: Mapping[str, ast.stmt], test: str) -> dict[str, ast.stmt]:
    """Return a test and all that it uses of the tests' own, by name."""
    left, seen = [test], dict[str, ast.stmt]()
    while left:
        name = left.pop()
        if name in known and name not in seen:
            seen[name] = known[name]
            left += re.findall(r"\w+", ast.unparse(known[name]))
    return seen


def asserted(known: Mapping[str, ast.stmt], test: str) -> set[float]:
    """Return the moduli of the numbers that a test asserts, and that functions it calls assert.

    These are the numbers in assertions, and in lists, tables and parameters that are written out
    under a name which an assertion compares; places in arrays, digits and tolerances are not.
    """
    found = set[float]()
    for node in reached(known, test).values():
        if isinstance(node, ast.FunctionDef):
            claim = claim_of(node)
            values = {**values_of(known.values()), **values_of(ast.walk(node)), **parameters(node)}
            left, seen = list(claim.names), set[str]()
            while left:
                name = left.pop()
                if name not in seen:
                    seen.add(name)
                    for value in filter(is_written_out, values.get(name, [])):
                        claim.visit(value)
                        left += names_in(value)
            found |= claim.numbers
    return found


class Claim(ast.NodeVisitor):
    """The numbers and the names of expressions that are asserted."""

    def __init__(self) -> None:
        self.numbers, self.names = set[float](), set[str]()

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, str):
            self.numbers |= {abs(value(text)) for text in NUMBER.findall(node.value)}
        elif isinstance(node.value, int | float) and not isinstance(node.value, bool):
            self.numbers.add(abs(float(node.value)))

    def visit_Name(self, node: ast.Name) -> None:
        self.names.add(node.id)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        self.visit(node.value)

    def visit_keyword(self, node: ast.keyword) -> None:
        if node.arg not in TOLERANCES:
            self.visit(node.value)

    def visit_Call(self, node: ast.Call) -> None:
        self.visit(node.func)
        if called(node) == "round":
            self.names.update(names_in(*node.args))
        elif called(node) != "slice":
            for argument in [*node.args, *node.keywords]:
                self.visit(argument)


def claim_of(function: ast.FunctionDef) -> Claim:
    """Return what all assertions of a function claim."""
    claim = Claim()
    for node in ast.walk(function):
        if isinstance(node, ast.Assert):
            claim.visit(node.test)
        elif isinstance(node, ast.Call) and called(node).startswith("assert_"):
            for argument in node.args[:2]:
                claim.visit(argument)
        elif isinstance(node, ast.Call) and called(node) in {"raises", "warns"}:
            for keyword in node.keywords:
                claim.visit(keyword)
    return claim


def values_of(nodes: Iterable[ast.AST]) -> dict[str, list[ast.expr]]:
    """Return what names are set to, by assignments and by loops."""
    found: dict[str, list[ast.expr]] = {}
    for node in nodes:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            for name in names_in(*targets(node)):
                found.setdefault(name, []).append(node.value)
        elif isinstance(node, ast.For | ast.comprehension):
            for name in names_in(node.target):
                found.setdefault(name, []).append(node.iter)
    return found


def parameters(function: ast.FunctionDef) -> dict[str, list[ast.expr]]:
    """Return what the parameters of a test are set to, each its own column of the table."""
    found: dict[str, list[ast.expr]] = {}
    for mark in function.decorator_list:
        if isinstance(mark, ast.Call) and called(mark) == "parametrize":
            listed = ast.literal_eval(mark.args[0])
            names = (
                [name.strip() for name in listed.split(",")] if isinstance(listed, str) else listed
            )
            table = mark.args[1]
            rows = table.elts if isinstance(table, ast.List | ast.Tuple) else [table]
            for row in rows:
                cells = row.elts if isinstance(row, ast.Tuple | ast.List) else [row] * len(names)
                for name, cell in zip(names, cells if len(names) > 1 else [row], strict=False):
                    found.setdefault(name, []).append(cell)
    return found


def is_written_out(node: ast.expr) -> bool:
    """Whether a value stands in the source, and is not computed."""
    return not any(
        isinstance(inner, ast.Lambda | ast.Subscript)
        or (isinstance(inner, ast.Call) and called(inner) not in WRITTEN_OUT)
        for inner in ast.walk(node)
    )


def called(node: ast.Call) -> str:
    return ast.unparse(node.func).rpartition(".")[2]


def targets(node: ast.Assign | ast.AnnAssign) -> list[ast.expr]:
    return node.targets if isinstance(node, ast.Assign) else [node.target]


def names_in(*nodes: ast.AST) -> list[str]:
    return [n.id for node in nodes for n in ast.walk(node) if isinstance(n, ast.Name)]


def value(text: str) -> float:
    return float(text.replace("−", "-"))
