"""The canon: every capability has its row, and the tests it names assert something of it."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
CANON = (TESTS.parent / "docs" / "canon.md").read_text(encoding="utf-8")
FROM_OTHERS = "".join(
    (TESTS.parent / "docs" / page).read_text(encoding="utf-8")
    for page in ("from-r.md", "from-others.md", "scikit-learn.md")
)
PROOF = re.compile(r"`(test_\w+\.py)::(test_\w+)`")
ROWS = [
    [cell.strip() for cell in re.split(r"(?<!\\)\|", row)[1:-1]]
    for row in re.findall(r"^\|.*::.*\|$", CANON + FROM_OTHERS, flags=re.MULTILINE)
]


def file_of_tests(name: str) -> Path:
    """Return the path of a file of the tests, in whichever folder it stands."""
    return next(TESTS.rglob(name))


@cache
def definitions(file: str) -> dict[str, ast.stmt]:
    """Return what a file of tests defines, by name, with what it takes from other such files."""
    found: dict[str, ast.stmt] = {}
    for node in ast.parse(file_of_tests(file).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found[node.name] = node
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found |= {target.id: node for target in targets if isinstance(target, ast.Name)}
        elif isinstance(node, ast.ImportFrom) and node.module == "tests":
            for alias in node.names:  # whose members are named with a dot
                found |= definitions(f"{alias.name}.py")
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tests."):
            other = definitions(f"{str(node.module).rpartition('.')[2]}.py")
            found |= {alias.name: other[alias.name] for alias in node.names if alias.name in other}
    return found


def reached(file: str, test: str) -> str:
    """Return the source of a test and of all that it uses of the tests' own."""
    known, left, seen = definitions(file), [test], dict[str, str]()
    while left:
        name = left.pop()
        if name in known and name not in seen:
            seen[name] = ast.unparse(known[name])
            left += re.findall(r"\w+", seen[name])
    return "\n".join(seen.values())


def test_every_capability_has_its_row() -> None:
    numbers = [int(n) for n in re.findall(r"^\| (\d+) \|", CANON, flags=re.MULTILINE)]
    assert numbers == list(range(1, 102))


def test_the_ground_is_proved() -> None:
    for row in re.findall(r"^\| (\d+) \|.*\| ([^|]*) \|$", CANON, flags=re.MULTILINE):
        number, proof = int(row[0]), row[1]
        assert number > 47 or "::" in proof, number


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_what_proves_a_row_asserts_something_of_it(row: list[str]) -> None:
    proofs = PROOF.findall(row[-1])
    assert proofs
    sources = [reached(file, test) for file, test in proofs]
    for (file, test), source in zip(proofs, sources, strict=True):
        assert f"def {test}(" in source, f"{file} has no {test}"
        assert re.search(r"\bassert\b|assert_\w+\(|\.(raises|warns)\(", source), test
    if row[0].isdigit():
        named = re.findall(r"[A-Za-z_]\w+", " ".join(re.findall(r"`([^`]+)`", row[3])))
        used = set(re.findall(r"\w+", "\n".join(sources)))
        assert not named or used.intersection(named), f"no test of row {row[0]} uses {named}"


def test_every_row_for_those_who_come_from_elsewhere_has_its_test() -> None:
    tables = re.findall(r"((?:^\|.*\|\n)+)", FROM_OTHERS, flags=re.MULTILINE)
    rows = [row for table in tables for row in table.splitlines()[2:]]
    assert len(rows) > 35
    for row in rows:
        assert PROOF.search(row), row
