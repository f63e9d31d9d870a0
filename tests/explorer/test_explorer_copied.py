"""What the explorer shows is made again by the command and by the Python that it copies."""

from __future__ import annotations

import base64
import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mercer.check import Array
from mercer.cli import main
from mercer.explorer.answers import answer, straight_of
from mercer.explorer.code_of_state import code_of, command_of
from mercer.explorer.source import Source, of_file
from mercer.explorer.state import State
from mercer.page.safe_text import embed_text
from mercer.spectrum import Limits

FEW, MANY = 30, 80
"""Landmarks of the curved map, and individuals of whom it is made on these."""


def table(folder: Path, count: int = 40) -> str:
    """Write a table of numbers with names and a factor."""
    x = np.random.default_rng(2).normal(size=(count, 4)) * [1, 2, 3, 1]
    x[: count // 3, 1] += 5.0
    rows = (f"r{i},{','.join(f'{v:.4f}' for v in row)},{'uvw'[i % 3]}" for i, row in enumerate(x))
    (folder / "table.csv").write_text("who,a,b,c,d,kind\n" + "\n".join(rows) + "\n")
    return "table.csv"


def many(folder: Path) -> str:
    return table(folder, MANY)


def example(name: str) -> Callable[[Path], str]:
    return lambda folder: name


CASES: dict[str, tuple[Callable[[Path], str], dict[str, Any]]] = {
    "straight": (table, {"method": "pca", "scale": False, "axes": 3}),
    "curved exact": (many, {"kernel": "laplacian(2.0)", "exact": True}),
    "curved approximate": (many, {"kernel": "laplacian(2.0)"}),
    "two kernels": (table, {"bandwidth": 1.7, "against": "laplacian(2.0)"}),
    "two kernels exact": (many, {"against": "laplacian(2.0)", "exact": True}),
    "mixed": (table, {"uses": {"kind": "active"}, "classes": 3}),
    "networks": (example("alkanes"), {"classes": 4}),
    "networks by two kernels": (
        example("alkanes"),
        {"against": "shortest_path().normalised()", "axes": 3},
    ),
    "strings": (example("numerals"), {"kernel": "string_spectrum(2).normalised()"}),
    "strings by two kernels": (
        example("numerals"),
        {"against": "string_spectrum(2).normalised()", "axes": 3},
    ),
    "distances": (example("eurodist"), {"axes": 4}),
    "distances by stress": (example("eurodist"), {"method": "stress"}),
}
"""Data, and what a visitor chose."""


def numbers(value: Any) -> Array:
    """Return an array that stands in a page: lists of numbers, or base64 of single precision."""
    if isinstance(value, dict):
        raw = np.frombuffer(base64.b64decode(value["data"]), value["type"].lower())
        return np.asarray(raw.reshape(value["shape"]), float)
    if isinstance(value, list):
        return np.array([numbers(one) for one in value])
    return np.asarray(value, float)


def maps(value: dict[str, Any]) -> dict[str, Array]:
    """Return the coordinates of individuals on the maps of a page, and their classes."""
    found = {"first": numbers(value["individuals"]["coordinates"])}
    if value.get("curved"):
        found["curved"] = numbers(value["curved"]["coordinates"])
    colours = {c["name"]: c for c in value["individuals"]["colours"]}
    if "class" in colours:
        found["classes"] = numbers(colours["class"]["codes"])
    return found


def maps_of_page(path: Path) -> dict[str, Array]:
    """Return the maps of a page that was written."""
    text = path.read_text()
    value = re.search(r'<script[^>]*id="value"[^>]*>(.*?)</script>', text, re.DOTALL)
    assert value is not None
    return maps(json.loads(value.group(1)))


def shown(source: Source, state: State) -> dict[str, Array]:
    """Return the maps that the explorer shows of a state."""
    value, _ = answer(source, state, straight_of(source, state))
    return maps(json.loads(embed_text(value)))


def same_maps(found: dict[str, Array], expected: dict[str, Array], *names: str) -> None:
    """Compare maps, of which pages hold single precision."""
    for name in names:
        size = np.abs(expected[name]).max()
        np.testing.assert_allclose(found[name], expected[name], atol=1e-5 * size, rtol=0)


def faced(axes: Array, others: Array) -> Array:
    """Return axes, each turned as its like is: of two maps, one is turned to face the other."""
    signs = np.sign(np.sum(axes * others, axis=1, keepdims=True))
    return np.asarray(axes * signs)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.filterwarnings("ignore")
def test_what_is_copied_makes_the_maps_that_are_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Limits, "stored", MANY - 10)
    monkeypatch.setattr("mercer.analysis.analysis.LANDMARKS", FEW)
    make, asked = CASES[case]
    name, state = make(tmp_path), State.of(asked)
    source = of_file(name)
    seen = shown(source, state)
    has_two, is_whole = state.against is not None, name in ("alkanes", "numerals")
    commands = [shlex.split(one) for one in command_of(source, state).split(" && ")]
    assert len(commands) == 1 + has_two
    for command in commands:
        assert command.pop(0) == "mercer"
        assert main([*command, "-q"]) == 0
    suffix = "-graphs" if commands[0][0] == "graphs" else ""
    by_command = [Path(name).stem + f"{suffix}.html", "other.html"]
    exec(code_of(source, state), {})
    for first, other in (by_command, ["report.html", "other.html"]):
        found = maps_of_page(tmp_path / first)
        if not has_two:
            same_maps(found, seen, *seen)
            continue
        beside = maps_of_page(tmp_path / other)
        if is_whole:
            same_maps(found, seen, "first")
            same_maps({"curved": faced(beside["first"], seen["curved"])}, seen, "curved")
        else:
            same_maps({"curved": faced(found["curved"], seen["curved"])}, seen, "curved")
            same_maps({"first": faced(beside["curved"], seen["first"])}, seen, "first")


@pytest.mark.filterwarnings("ignore")
def test_a_map_on_landmarks_is_not_the_exact_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Limits, "stored", MANY - 10)
    monkeypatch.setattr("mercer.analysis.analysis.LANDMARKS", FEW)
    source = of_file(many(tmp_path))
    states = [State(exact=exact, bandwidth=0.3) for exact in (False, True)]
    both = [shown(source, state)["curved"] for state in states]
    assert np.abs(both[0] - both[1]).max() > 1e-3 * np.abs(both[1]).max()
    assert "--curved-exact" in command_of(source, State(exact=True))
    assert "--curved-exact" not in command_of(source, State(exact=True, method="stress"))


@pytest.mark.filterwarnings("ignore")
def test_networks_with_loops_are_read_again_as_they_were(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "webs").mkdir()
    for i in range(7):
        edges = [f"n{j} n{(j * (i + 2)) % 9}" for j in range(9)]
        path = tmp_path / "webs" / f"web{i}.edges"
        path.write_text("\n".join(edges))
    source, state = of_file("webs"), State(axes=2)
    assert source.data.notes
    seen = shown(source, state)
    command = shlex.split(command_of(source, state))
    assert main([*command[1:], "-q"]) == 0
    exec(code_of(source, state), {})
    for page in ("webs-graphs.html", "report.html"):
        same_maps(maps_of_page(tmp_path / page), seen, "first")
