"""Described pictures with three sides, drawn as seen from the right and above."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.check import Array
from mercer.page.marks import Place, path
from mercer.pictures.colours import GREY, Scale, hexes
from mercer.pictures.scene import Lines, Points, Surface

VIEW = np.array([[0.87, 0.5, 0.0], [-0.25, 0.43, 0.87]])
"""Across and up on the canvas, for each side of a unit cube."""

TOWARDS = np.cross(VIEW[0], VIEW[1])
"""The direction of the eye, by which what is near is drawn last."""


class Space(Place):
    """A panel with three sides, seen along a slope."""

    def seen(self, x: Any, y: Any, z: Any) -> tuple[Array, Array, Array]:
        """Return where points lie on the canvas, and how near they are."""
        sides = (self.panel.x, self.panel.y, self.panel.z)
        unit = np.stack(
            [
                (np.asarray(v, float) - s.limits[0]) / (s.limits[1] - s.limits[0]) - 0.5
                for v, s in zip((x, y, z), sides, strict=True)
                if s is not None
            ]
        )
        left, top, width, height = self.box
        size = min(width / 1.5, height / 1.6)
        flat = np.tensordot(VIEW, unit, axes=1)
        near: Array = np.tensordot(TOWARDS, unit, axes=1)
        return left + width / 2 + size * flat[0], top + height / 2 - size * flat[1], near

    def draw(self) -> None:
        self._cube()
        for mark in self.panel.marks:
            if isinstance(mark, Points) and mark.z is not None:
                u, v, near = self.seen(mark.x, mark.y, mark.z)
                order = np.argsort(near, kind="stable")
                self.points(_reordered(mark, order), u[order], v[order])
            elif isinstance(mark, Lines) and mark.z is not None:
                self.lines(mark, *self.seen(mark.x, mark.y, mark.z)[:2])
            elif isinstance(mark, Surface):
                self._surface(mark)

    def _cube(self) -> None:
        panel, c = self.panel, self.canvas
        (x0, x1), (y0, y1) = panel.x.limits, panel.y.limits
        z0, z1 = panel.z.limits if panel.z is not None else (0.0, 1.0)
        floor = ((x0, y0, z0), (x1, y0, z0), (x1, y1, z0), (x0, y1, z0), (x0, y0, z0))
        for line in (floor, ((x0, y1, z0), (x0, y1, z1)), ((x1, y1, z0), (x1, y1, z1))):
            u, v, _ = self.seen(*np.transpose(line))
            c.add("path", d=path(u, v), fill="none", stroke=GREY, stroke_width=0.8)
        middles = (
            (panel.x, ((x0 + x1) / 2, y0, z0), (0, 18), "end"),
            (panel.y, (x1, (y0 + y1) / 2, z0), (10, 14), "start"),
        )
        for side, at, (dx, dy), anchor in middles:
            u, v, _ = self.seen(*at)
            c.text(float(u) + dx, float(v) + dy, side.title, class_="title", text_anchor=anchor)
        if panel.z is not None:
            u, v, _ = self.seen(x0, y1, z1)
            where = {"class_": "title", "text_anchor": "middle"}
            c.text(float(u), float(v) - 6, panel.z.title, **where)

    def _surface(self, mark: Surface) -> None:
        z = np.asarray(mark.scale.values, float)
        gx, gy = np.meshgrid(mark.x, mark.y)
        u, v, near = self.seen(gx, gy, z)
        colours = np.array(hexes(mark.scale)).reshape(z.shape)
        n, m = z.shape
        cells = [(i, j) for i in range(n - 1) for j in range(m - 1)]
        for i, j in sorted(cells, key=lambda cell: float(near[cell])):
            at = ((i, j), (i, j + 1), (i + 1, j + 1), (i + 1, j))
            points = " ".join(f"{u[k]:.1f},{v[k]:.1f}" for k in at)
            self.canvas.add("polygon", points=points, fill=colours[i, j], class_="facet")


def _reordered(mark: Points, order: Array) -> Points:
    """Return points in another order, their colours too."""
    if not isinstance(mark.colour, Scale):
        return mark
    scale = Scale(mark.colour.values[order], mark.colour.title, mark.colour.kind)
    return Points(mark.x, mark.y, mark.z, scale, mark.marker, mark.size, opacity=mark.opacity)
