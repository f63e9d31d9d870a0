"""The straight and the curved map of five planets side by side, as the README shows them.

``python examples/two_maps.py docs/two-maps.png`` draws the picture.
"""

import sys
from typing import Any

import mercer as mc
from mercer import datasets, pictures


def two_maps() -> Any:
    """Return the two maps of the same individuals as one picture."""
    table = datasets.planets()
    found = mc.analyse(table, random_state=0)
    titles = {
        "straight: principal components": found.model,
        "curved: a Gaussian kernel": found.curved,
    }
    panels = [
        pictures.individuals.describe(
            model.individuals_,
            spectrum=model.spectrum_,
            colour=table.colour,
            labels=0,
            title=title,
        )
        for title, model in titles.items()
    ]
    return pictures.sheet(*panels)


if __name__ == "__main__":
    axes = pictures.draw(two_maps())
    place = sys.argv[1] if len(sys.argv) > 1 else "two-maps.png"
    axes[0].figure.savefig(place, dpi=80)
    print(f"the picture is {place}")
