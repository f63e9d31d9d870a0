"""Where planets stood: from the elements of their orbits, by Kepler's equation."""

from __future__ import annotations

from datetime import date, timedelta
from typing import NamedTuple

import numpy as np

from mercer.check import Array, whole
from mercer.data.table import Role, Table, as_labels

CENTURY = 36525.0
"""Days of a century, in which longitudes are counted."""

START = date(2000, 1, 1)
"""The first day, on whose noon the elements are given."""


class Orbit(NamedTuple):
    """The elements of an orbit at noon of 1 January 2000, and the way along it in a century.

    The longer half axis in astronomical units, the eccentricity, and in degrees the inclination,
    the mean longitude, the longitudes of the perihelion and of the ascending node, and by how much
    the mean longitude grows in a century.
    """

    axis: float
    eccentricity: float
    inclination: float
    longitude: float
    perihelion: float
    node: float
    rate: float

    @property
    def period(self) -> float:
        """The days of a year of this planet."""
        return 360.0 * CENTURY / self.rate

    def positions(self, days: Array) -> Array:
        r"""Return x, y and z on some days, from the Sun, in astronomical units.

        .. math:: M = E - e \sin E, \quad (a (\cos E - e), \; a \sqrt{1 - e^2} \sin E)

        in the plane of the orbit, turned by the argument of the perihelion, the inclination and
        the node. Kepler's equation is solved by Newton's steps.

        >>> earth = Orbit(1.0, 0.0167, 0.0, 100.46, 102.94, 0.0, 35999.37)
        >>> bool(abs(earth.period - 365.25) < 0.01)
        True
        >>> earth.positions(np.array([0.0])).round(2)  # the Sun is in Sagittarius in January
        array([[-0.18,  0.97,  0.  ]])
        """
        e = self.eccentricity
        mean = np.radians(self.longitude - self.perihelion + self.rate * days / CENTURY)
        E = mean + e * np.sin(mean)
        for _ in range(10):
            E -= (E - e * np.sin(E) - mean) / (1.0 - e * np.cos(E))
        plane = self.axis * np.array([np.cos(E) - e, np.sqrt(1.0 - e * e) * np.sin(E)])
        w, i, n = np.radians([self.perihelion - self.node, self.inclination, self.node])
        x, y = np.array([[np.cos(w), -np.sin(w)], [np.sin(w), np.cos(w)]]) @ plane
        y, z = y * np.cos(i), y * np.sin(i)
        x, y = x * np.cos(n) - y * np.sin(n), x * np.sin(n) + y * np.cos(n)
        return np.column_stack([x, y, z])


ORBITS = {
    "Mercury": Orbit(
        0.38709927, 0.20563593, 7.00497902, 252.2503235, 77.45779628, 48.33076593, 149472.67411175
    ),
    "Venus": Orbit(
        0.72333566, 0.00677672, 3.39467605, 181.9790995, 131.60246718, 76.67984255, 58517.81538729
    ),
    "Earth": Orbit(
        1.00000261, 0.01671123, -0.00001531, 100.46457166, 102.93768193, 0.0, 35999.37244981
    ),
    "Mars": Orbit(
        1.52371034, 0.0933941, 1.84969142, -4.55343205, -23.94362959, 49.55953891, 19140.30268499
    ),
    "Jupiter": Orbit(
        5.202887, 0.04838624, 1.30439695, 34.39644051, 14.72847983, 100.47390909, 3034.74612775
    ),
}


def planets(days: int = 40) -> Table:
    """Return where the first five planets stood on days that divide the year of each into parts.

    ``x`` and ``y`` are seen from the north of the plane in which the Earth runs, from the Sun, in
    astronomical units; rows are named by planet and day, from 1 January 2000 on. No straight line
    parts two planets: each runs around all those that are nearer to the Sun.

    Source: E. M. Standish, *Keplerian elements for approximate positions of the major planets*,
    Jet Propulsion Laboratory, NASA; right to about a minute of arc from 1800 to 2050. Public
    domain.

    >>> table = planets()
    >>> len(table), table.active, table.colour.levels
    (200, ('x', 'y'), ('Earth', 'Jupiter', 'Mars', 'Mercury', 'Venus'))
    >>> table.row_names[81], np.hypot(*table.matrix()[81]).round(2)
    ('Earth 2000-01-10', np.float64(0.98))
    """
    count = whole(days, "days", least=1)
    names, labels, places = [], [], []
    for planet, orbit in ORBITS.items():
        when = orbit.period * np.arange(count) / count
        names += [f"{planet} {START + timedelta(days=round(day))}" for day in when.tolist()]
        labels += [planet] * count
        places.append(orbit.positions(when)[:, :2])
    x, y = np.concatenate(places).T
    columns = {"planet": as_labels(labels), "x": x.round(4), "y": y.round(4)}
    return Table.of(columns, roles={"planet": Role.FACTOR}, row_names=names)
