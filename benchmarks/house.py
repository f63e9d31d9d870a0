"""The house in numbers: how many files, names and constants a reader meets, and which stand out.

The sources are read as text and as syntax trees; nothing of mercer is run. Imports that only types
need count as imports; those of a package's ``__init__`` do not, since a door is no reader.

Claim: a file is named by what a reader looks for, holds what belongs together, and shares neither
its name nor that of a class with another package.

    python -m benchmarks.house             # the numbers, as docs/design.md states them
    python -m benchmarks.house lists       # and what each of them counts
"""

from __future__ import annotations

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).parents[1]
"""The folder of the repository."""

LONG_FILE = 500
"""Lines from which on a file is long."""

LONG_FUNCTION = 60
"""Lines from which on a function is long, its docstring included."""

CONSTANT = re.compile(r"[A-Z][A-Z0-9_]+")
"""What a constant is called: two capitals at least, for one is a matrix."""


DOCUMENTED = {"_replace", "_asdict", "_fields", "_exit", "_getframe"}
"""Underscored names that Python's own documentation offers: of named tuples, of `os` and `sys`."""


class Source:
    """One file: its module, its text and its syntax tree."""

    def __init__(self, path: Path, root: Path) -> None:
        parts = path.relative_to(root).with_suffix("").parts
        self.module = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        self.is_door = parts[-1] == "__init__"
        self.text = path.read_text(encoding="utf-8")

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    @property
    def package(self) -> str:
        """The folder in which the file stands."""
        return self.module if self.is_door else self.module.rpartition(".")[0]

    @property
    def lines(self) -> int:
        return self.text.count("\n")

    def nodes(self, *kinds: type[ast.AST]) -> Iterator[ast.AST]:
        return (node for node in ast.walk(self.tree) if isinstance(node, kinds))

    @cached_property
    def code_lines(self) -> int:
        """Lines without blanks, comments, docstrings and imports."""
        lines = self.text.splitlines()
        left_out = {
            i for i, line in enumerate(lines, 1) if not line.strip() or line.strip()[0] == "#"
        }
        for node in ast.walk(self.tree):
            is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
            if isinstance(node, ast.Import | ast.ImportFrom) or is_text:
                left_out.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
        return len(lines) - len(left_out)

    @cached_property
    def imported(self) -> set[str]:
        """Modules that are imported, and names from them that may be modules."""
        found = set[str]()
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                found.update(alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module:
                found.add(node.module)
                found.update(f"{node.module}.{alias.name}" for alias in node.names)
        return found

    @cached_property
    def constants(self) -> list[tuple[str, str]]:
        """Upper-case names that the module defines, each with its value as it is written."""
        found: list[tuple[ast.expr, ast.expr | None]] = []
        for node in self.tree.body:
            if isinstance(node, ast.AnnAssign):
                found.append((node.target, node.value))
            for target in node.targets if isinstance(node, ast.Assign) else ():
                if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                    found.extend(zip(target.elts, node.value.elts, strict=True))
                else:
                    found.append((target, node.value))
        return [
            (name.id, ast.unparse(value) if value else "")
            for name, value in found
            if isinstance(name, ast.Name) and CONSTANT.fullmatch(name.id)
        ]

    @cached_property
    def classes(self) -> list[str]:
        return [node.name for node in self.tree.body if isinstance(node, ast.ClassDef)]

    @cached_property
    def long_functions(self) -> list[str]:
        return [
            f"{self.module}.{node.name}"
            for node in ast.walk(self.tree)
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            and (node.end_lineno or 0) - node.lineno >= LONG_FUNCTION
        ]

    @cached_property
    def private_reads(self) -> list[str]:
        """Underscored attributes that are read of what is not the object or class itself."""
        return [
            f"{self.module}:{node.lineno} {ast.unparse(node)}"
            for node in ast.walk(self.tree)
            if isinstance(node, ast.Attribute)
            and re.fullmatch(r"_[a-z]\w*", node.attr)
            and node.attr not in DOCUMENTED
            and ast.unparse(node.value) not in ("self", "cls", "super()", "type(self)")
            and f"self.{node.attr}" not in self.text
            and f"def {node.attr}" not in self.text
        ]


def sources(root: Path) -> list[Source]:
    """Return the Python files of a folder, by their names."""
    return [Source(path, root) for path in sorted(root.rglob("*.py"))]


def single_importers(known: list[Source]) -> list[str]:
    """Return modules that one other imports, each with that one.

    >>> house = sources(ROOT / "src")
    >>> any(line.startswith("mercer.check ") for line in single_importers(house))
    False
    """
    doors = {source.module for source in known if source.is_door}
    names = {source.module for source in known}
    importers = defaultdict(set)
    for source in known:
        for name in (source.imported & names) - doors if not source.is_door else ():
            importers[name].add(source.module)
    return [f"{name} ← {next(iter(by))}" for name, by in sorted(importers.items()) if len(by) == 1]


def repeated(pairs: list[tuple[str, str]]) -> list[str]:
    """Return names that stand in two packages, each with these.

    >>> repeated([("Table", "data"), ("Table", "kernels"), ("Panel", "pictures")])
    ['Table: data, kernels']
    """
    places = defaultdict(set)
    for name, place in pairs:
        places[name].add(place)
    return [f"{n}: {', '.join(sorted(at))}" for n, at in sorted(places.items()) if len(at) > 1]


def second_meanings(known: list[Source]) -> list[str]:
    """Return names of constants that have several values, each with these and their places."""
    places: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for source in known:
        for name, value in source.constants:
            places[name][value].append(source.module.removeprefix("mercer."))
    return [
        f"{name}: " + "; ".join(f"{value[:40]} in {', '.join(at)}" for value, at in of.items())
        for name, of in sorted(places.items())
        if len(of) > 1
    ]


def second_copies(known: list[Source]) -> list[str]:
    """Return constants that several modules define with one name and one value."""
    places = defaultdict(list)
    for source in known:
        for name, value in source.constants:
            places[(name, value)].append(source.module.removeprefix("mercer."))
    return [
        f"{name} = {value[:40]}: {', '.join(at)}"
        for (name, value), at in sorted(places.items())
        if len(at) > 1
    ]


def patched_constants(tests: list[Source]) -> list[str]:
    """Return constants that a test replaces, each with its place: they are parameters."""
    found = []
    for source in tests:
        for node in ast.walk(source.tree):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "monkeypatch.setattr":
                words = [ast.unparse(argument).strip("'\"") for argument in node.args[:2]]
                last = (
                    words[0].rpartition(".")[2] if "." in words[0] and len(words) < 2 else words[-1]
                )
                if CONSTANT.fullmatch(last):
                    found.append(f"{source.module}:{node.lineno} {last}")
    return found


def numbers(root: Path = ROOT) -> Iterator[tuple[str, list[str] | int]]:
    """Yield each number's name, and what it counts or how many there are."""
    house, tests = sources(root / "src"), sources(root / "tests")
    private = [(s.classes, s.package) for s in house]
    yield "files", len(house)
    yield "lines a file on average", round(sum(s.lines for s in house) / len(house))
    yield (
        f"files of more than {LONG_FILE} lines",
        [f"{s.module} {s.lines}" for s in house if s.lines > LONG_FILE],
    )
    yield (
        f"functions of more than {LONG_FUNCTION} lines",
        [name for s in house for name in s.long_functions],
    )
    yield "modules that one other imports", single_importers(house)
    files = [(s.module.rpartition(".")[2], s.package) for s in house if not s.is_door]
    yield "names of files in two packages", repeated(files)
    yield (
        "names of classes in two packages",
        repeated([(name, place) for names, place in private for name in names]),
    )
    constants = [name for s in house for name, _ in s.constants]
    yield "constants", len(constants)
    yield "names of constants", len(set(constants))
    yield "names of constants with several values", second_meanings(house)
    yield "constants with one name and value in several modules", second_copies(house)
    yield "constants that tests replace", patched_constants(tests)
    yield "underscored attributes read from outside", [x for s in house for x in s.private_reads]
    yield "lines of code", sum(s.code_lines for s in house)


if __name__ == "__main__":
    for name, value in numbers():
        print(f"{len(value) if isinstance(value, list) else value} {name}")
        for line in value if "lists" in sys.argv and isinstance(value, list) else ():
            print(f"    {line}")
