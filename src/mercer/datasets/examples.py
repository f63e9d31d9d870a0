"""Examples that commands and the explorer know by name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from mercer.data.matrices import SquareMatrix
from mercer.data.table import Table
from mercer.datasets.embedded import decathlon, eurodist, iris, swiss
from mercer.datasets.simulated import planets

EXAMPLES: dict[str, tuple[Callable[[], Table | SquareMatrix], str]] = {
    "planets": (planets, "200 places of five planets, which no straight line parts"),
    "decathlon": (decathlon, "41 athletes, ten events: numbers with a factor beside"),
    "iris": (iris, "150 flowers of three species: four lengths"),
    "swiss": (swiss, "47 provinces: six numbers"),
    "eurodist": (eurodist, "Distances by road between 21 cities"),
}
"""How each is made, and what it holds."""


def is_example(name: str) -> bool:
    """Whether a name is that of an example, and of no file.

    >>> is_example("planets"), is_example("planets.csv")
    (True, False)
    """
    return name in EXAMPLES and not Path(name).exists()


def example(name: str) -> Table | SquareMatrix:
    """Return an example by its name.

    >>> len(example("swiss"))
    47
    """
    return EXAMPLES[name][0]()
