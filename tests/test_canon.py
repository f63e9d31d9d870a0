"""The canon: every capability has its row, and the tests it names assert something of it."""

from __future__ import annotations

import ast
import re

import pytest

from tests.claims import NUMBER, TESTS, asserted, definitions, reached, value

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


def test_every_capability_has_its_row() -> None:
    numbers = [int(n) for n in re.findall(r"^\| (\d+) \|", CANON, flags=re.MULTILINE)]
    assert numbers == list(range(1, 102))


def test_every_row_names_its_test() -> None:
    for row in re.findall(r"^\| (\d+) \|.*\| ([^|]*) \|$", CANON, flags=re.MULTILINE):
        number, proof = int(row[0]), row[1]
        assert "::" in proof, number


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_what_proves_a_row_asserts_something_of_it(row: list[str]) -> None:
    proofs = PROOF.findall(row[-1])
    assert proofs
    sources = [
        "\n".join(map(ast.unparse, reached(definitions(file), test).values()))
        for file, test in proofs
    ]
    for (file, test), source in zip(proofs, sources, strict=True):
        assert f"def {test}(" in source, f"{file} has no {test}"
        assert re.search(r"\bassert\b|assert_\w+\(|\.(raises|warns)\(", source), test
    if row[0].isdigit():
        named = {name for code in re.findall(r"`([^`]+)`", row[3]) for name in names_called(code)}
        unused = named.difference(re.findall(r"\w+", "\n".join(sources)))
        assert not unused, f"no test of row {row[0]} uses {unused}"


def names_called(code: str) -> set[str]:
    """Return the names that a piece of code calls, or that it is; none of an operator."""
    code = re.sub(r"^\.", "k.", code.replace("…", "..."))
    try:
        tree = ast.parse(code).body[0]
    except SyntaxError:
        return set()
    calls = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
    whole = [tree.value] if isinstance(tree, ast.Expr) and not calls else []
    return {ast.unparse(node).rpartition(".")[2] for node in [*whole, *calls]}


@pytest.mark.parametrize("row", [row for row in ROWS if row[0].isdigit()], ids=lambda row: row[0])
def test_the_tests_of_a_row_assert_the_numbers_that_it_says(row: list[str]) -> None:
    assert row[4]
    proofs = PROOF.findall(row[-1])
    found = set[float]().union(*(asserted(definitions(file), test) for file, test in proofs))
    for text in NUMBER.findall(row[4]):
        digits = text.partition("e")[0].partition(".")[2]
        number = abs(value(text))
        unit = 10.0 ** -len(digits) * float("1e" + (text.partition("e")[2] or "0"))
        near = [n for n in found if abs(n - number) <= 0.5001 * unit * (len(digits) > 0)]
        assert near, f"row {row[0]}: no test that it cites asserts {text}"


FIGURES = {
    "Beeny": ["1", "2", "3"],
    "Martin": ["1", "2", "3", "4", "5"],
    "GQ": ["54.1"],
    "Kroese": [f"6.{i}" for i in range(4, 12)],
}
"""The numbered figures of the texts; those of Yao have no numbers."""


@pytest.mark.parametrize("text", FIGURES)
def test_every_numbered_figure_is_listed_as_reproduced_and_drawn_on_its_page(text: str) -> None:
    found = list[str]()
    for row in re.findall(rf"^\| {text} \| \[.*$", CANON, flags=re.MULTILINE):
        what, link, said = re.findall(r"\[(.*)\]\((.*)\) \| (.*) \|", row)[0]
        if "Figure" in what:
            assert "reproduced" in said
            found += re.findall(r"\d[\d.]*", what.partition("Figure")[2].partition("Listing")[0])
            page, _, anchor = link.partition("#")
            whole = (TESTS.parent / "docs" / page).read_text(encoding="utf-8")
            parts = re.split(r"^## ", whole, flags=re.MULTILINE)
            slugs = [re.sub(r"[^\w\- ]", "", p.splitlines()[0].lower()) for p in parts]
            section = parts[[slug.strip().replace(" ", "-") for slug in slugs].index(anchor)]
            assert "```{picture}" in section, link
    assert sorted(found, key=float) == sorted(FIGURES[text], key=float)


def test_every_row_for_those_who_come_from_elsewhere_has_its_test() -> None:
    tables = re.findall(r"((?:^\|.*\|\n)+)", FROM_OTHERS, flags=re.MULTILINE)
    rows = [row for table in tables for row in table.splitlines()[2:]]
    assert len(rows) > 35
    for row in rows:
        assert PROOF.search(row), row


def test_a_number_counts_only_where_it_is_asserted() -> None:
    source = """
LIMITS = [6.25, 7.5]
def helper(x):
    assert x.size == 11
def test_of_something():
    model = fit(seed=12, size=40)
    helper(model)
    expected = [0.5, 1.25]
    np.testing.assert_allclose(model.values[3], expected, atol=1e-7)
    for rows, value in [(slice(0, 15), 0.321)]:
        assert model.first[rows].round(9) == value
    with pytest.raises(ValueError, match="found 17"):
        fit(99)
    assert model.limits < LIMITS
"""
    known = {
        name: node
        for node in ast.parse(source).body
        for name in ([node.name] if isinstance(node, ast.FunctionDef) else ["LIMITS"])
    }
    assert asserted(known, "test_of_something") == {11, 0.5, 1.25, 0.321, 17, 6.25, 7.5}
