"""The explorer: the page of an analysis, alive, with everything that decides it within reach.

``mercer serve data.csv`` starts it on this machine and opens it in a browser (``running.py``);
`explore` shows the page of a model in a notebook. What a visitor asks for is one
``State``; ``answers.py`` makes the analysis of it and ``server.py`` hands it to the page, whose
scripts also draw reports, if ``guard.py`` lets whoever asks. Nothing is imported here, so that the
first page is there at once: ``server.py`` stands on readers of files alone, and the work imports
the analyses.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mercer.explorer.notebook import explore as explore


def __getattr__(name: str) -> Any:
    if name == "explore":
        from mercer.explorer.notebook import explore

        return explore
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
