from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
CANON = (ROOT / "docs" / "canon.md").read_text(encoding="utf-8")


def test_every_capability_has_its_row() -> None:
    numbers = [int(n) for n in re.findall(r"^\| (\d+) \|", CANON, flags=re.MULTILINE)]
    assert numbers == list(range(1, 102))


def test_every_proof_that_is_named_exists() -> None:
    named = re.findall(r"`(test_\w+\.py)::(test_\w+)`", CANON)
    assert len(named) > 60
    for file, test in named:
        text = (Path(__file__).parent / file).read_text(encoding="utf-8")
        assert f"def {test}(" in text, f"{file} has no {test}"


def test_the_ground_is_proved() -> None:
    for row in re.findall(r"^\| (\d+) \|.*\| ([^|]*) \|$", CANON, flags=re.MULTILINE):
        number, proof = int(row[0]), row[1]
        assert number > 47 or "::" in proof, number
