"""Plotly's Figure with the toolbar of ours; apart from the rest because it needs plotly."""

from __future__ import annotations

from typing import Any

import plotly.io
from plotly import graph_objects

from mercer.pictures.with_plotly import config


class Figure(graph_objects.Figure):
    """A plotly Figure that is shown, and written to HTML, with the buttons of `toolbar` alone.

    A ``config`` that is given says more, or something else.

    >>> figure = Figure({"layout": {"xaxis": {"range": [0, 1]}}})
    >>> "modeBarButtons" in figure.to_html(include_plotlyjs=False)
    True
    """

    def show(self, *args: Any, **options: Any) -> Any:
        return super().show(*args, **self._with_toolbar(options))

    def to_html(self, config: Any = None, *args: Any, **options: Any) -> Any:
        options = self._with_toolbar({**options, "config": config})
        return super().to_html(options.pop("config"), *args, **options)

    def write_html(self, file: Any, config: Any = None, *args: Any, **options: Any) -> Any:
        options = self._with_toolbar({**options, "config": config})
        return super().write_html(file, options.pop("config"), *args, **options)

    def _repr_mimebundle_(self, *args: Any, **options: Any) -> Any:
        return super()._repr_mimebundle_(*args, **self._with_toolbar(options))

    def _ipython_display_(self) -> None:
        if plotly.io.renderers.render_on_display and plotly.io.renderers.default:
            self.show()
        else:
            super()._ipython_display_()

    def _with_toolbar(self, options: dict[str, Any]) -> dict[str, Any]:
        given = options.get("config") or {}
        return {**options, "config": {**config(self.to_dict()["layout"]), **given}}
