"""Data sets that the literature uses, and examples that commands and the explorer know by name.

Each is a table of facts (results of games, measurements, road distances), in which there is no
copyright; the source is named where each is described. They are files beside this one, read when
they are asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date, timedelta
from pathlib import Path
from typing import NamedTuple

import numpy as np

from mercer.check import Array
from mercer.data.files import read
from mercer.data.matrices import SquareMatrix
from mercer.data.sequences import Sequences
from mercer.data.table import Role, Table, as_labels
from mercer.settings import number, whole

FOLDER = Path(__file__).parent


def decathlon() -> Table:
    """Return the results of 41 athletes in ten events of the decathlon, 2004.

    ``Rank`` and ``Points`` are supplementary numbers, ``Competition`` is a factor. Names in
    capitals are of the Decastar meeting, the others of the Olympic Games.

    Source: results published by the organisers, as in the R package FactoMineR (Husson, Lê and
    Pagès), whose spelling of columns is kept. Facts; free to use.

    >>> table = decathlon()
    >>> len(table), len(table.active), table.colour.levels
    (41, 10, ('Decastar', 'OlympicG'))
    """
    return read(FOLDER / "decathlon.csv", "table", supplementary=("Rank", "Points"))


def iris() -> Table:
    """Return the sepals and petals of 150 irises of three species, in centimetres.

    Source: E. Anderson (1935), published by R. A. Fisher, *The use of multiple measurements in
    taxonomic problems*, Annals of Eugenics 7 (1936); the version of R's ``datasets``. Public
    domain.

    >>> iris().colour.levels
    ('setosa', 'versicolor', 'virginica')
    """
    return read(FOLDER / "iris.csv", "table")


def swiss() -> Table:
    """Return fertility and five indicators of 47 French-speaking provinces of Switzerland, 1888.

    Source: Mosteller and Tukey, *Data Analysis and Regression* (1977), pages 549-551; the version
    of R's ``datasets``, whose spelling of names is kept. Public domain.

    >>> swiss().matrix().shape
    (47, 6)
    """
    return read(FOLDER / "swiss.csv", "table")


def us_cities() -> SquareMatrix:
    """Return the distances between nine cities of the United States, in miles.

    Source: the table of the first lecture of Y. Yao's course on the geometry of data. Facts; free
    to use.

    >>> us_cities().names[:2], int(us_cities().values[0, 1])
    (('BOSTON', 'NY'), 206)
    """
    return read(FOLDER / "us_cities.csv", "matrix")


def eurodist() -> SquareMatrix:
    """Return the road distances between 21 cities of Europe, in kilometres; not Euclidean.

    Source: *The Cambridge Encyclopaedia*, as in R's ``datasets``. Facts; free to use.

    >>> eurodist()
    SquareMatrix(distances between 21 points)
    """
    return read(FOLDER / "eurodist.csv", "matrix")


def numerals() -> Sequences:
    """Return the words for one to ten in 28 languages, a sequence of letters for each.

    Accents are left out, ``th`` stands for thorn, and hyphens stand between words. Facts; free to
    use.

    >>> numerals()[0]
    'ONE-TWO-THREE-FOUR-FIVE-SIX-SEVEN-EIGHT-NINE-TEN'
    """
    return read(FOLDER / "numerals.fasta", "fasta")


def alkanes() -> Path:
    """Return the folder of 37 networks: how the carbons of alkanes are joined, four to eight each.

    Each file has the bonds between carbons of one isomer, and folders are numbers of carbons:
    `mercer.read` reads a file, ``mercer graphs`` and ``mercer serve`` the folder. The names are
    those of the rules of IUPAC. Facts; free to use.

    >>> sorted(p.stem for p in alkanes().glob("C5/*"))
    ['2,2-dimethylpropane', '2-methylbutane', 'pentane']
    """
    return FOLDER / "alkanes"


DENSITY = 15
"""Points on a circle for each unit of its radius (Beeny, Example 4.1)."""

LEVELS = ("ambient", "elevated")


def circles(radii: Sequence[float] = (1.0, 2.0, 3.0), density: int = DENSITY) -> Table:
    r"""Return concentric circles, on each of which points stand at equal angles.

    .. math:: (r \cos 2\pi j/m, \; r \sin 2\pi j/m), \quad j < m = \mathrm{density} \cdot r

    With the defaults 15, 30 and 45 points, the training set of Beeny, Example 4.1; its test set is
    ``circles((1.5, 2.5), 12)``. The radius is a factor.

    >>> len(circles()), len(circles((1.5, 2.5), 12))
    (90, 48)
    >>> circles().matrix()[0]
    array([1., 0.])
    """
    counts = [max(1, round(density * radius)) for radius in radii]
    angles = np.concatenate([2.0 * np.pi * np.arange(m) / m for m in counts])
    r = np.repeat(np.asarray(radii, np.float64), counts)
    columns = {"x": r * np.cos(angles), "y": r * np.sin(angles), "radius": as_labels(r.tolist())}
    return Table.of(columns, roles={"radius": Role.FACTOR})


def disc_and_ring(n: int = 200, seed: int = 0) -> Table:
    r"""Return points uniform on a disc of radius 1 and the ring between radii 3 and 4.

    .. math:: r^2 = v + 8 \cdot 1\{v \ge 1\}, \quad v \sim U[0, 8)

    since the disc has one eighth of the area (Kroese et al., Example 6.18).

    >>> r = np.hypot(*disc_and_ring().matrix().T)
    >>> bool(np.all((r < 1) | ((3 <= r) & (r < 4))))
    True
    """
    count = whole(n, "n", least=1)
    rng = np.random.default_rng(seed)
    v, angles = rng.uniform(0.0, 8.0, count), rng.uniform(0.0, 2.0 * np.pi, count)
    r = np.sqrt(np.where(v < 1.0, v, v + 8.0))
    part = as_labels(np.where(v < 1.0, "disc", "ring").tolist())
    return Table.of({"x": r * np.cos(angles), "y": r * np.sin(angles), "part": part})


def plants(genes: int = 200, replicates: int = 6, seed: int = 0, effect: float = 1.0) -> Table:
    r"""Return simulated gene expression of plants under two temperatures and two levels of CO₂.

    .. math:: x_{ig} = \mu_g + e\,(a_g T_i + b_g C_i + c_g T_i C_i)
        + s_{m(g)}(T_i, C_i) \, \ell_g f_{i m(g)} + \varepsilon_{ig}

    on a logarithmic scale, for plant i and gene g. Genes belong to five modules m(g); f is one
    random factor for each plant and module, by which the genes of a module vary together. The
    treatments T and C move a part of the genes (a, b, c are sparse) and loosen or tighten the
    modules (s), so that co-expression networks differ between conditions. ``effect`` is e: with 8
    the conditions part on the first plane. Nothing in it is measured: it has the shape of an
    experiment with 2 x 2 conditions and six replicates.

    >>> table = plants()
    >>> len(table), len(table.active), table.row_names[0]
    (24, 200, 'T0 C0 1')
    """
    count = whole(genes, "genes", least=1)
    copies = whole(replicates, "replicates", least=1)
    size = number(effect, "effect")
    rng = np.random.default_rng(seed)
    design = np.array([(t, c) for t in (0, 1) for c in (0, 1) for _ in range(copies)])
    T, C = design.T[:, :, None]
    module = np.arange(count) % 5
    mean = rng.normal(8.0, 2.0, count)
    a, b, c = (_sparse(rng, count, share) for share in (0.3, 0.2, 0.1))
    # Rows: the four conditions; columns: the five modules.
    tightness = rng.uniform(0.3, 1.5, (4, 5))[(2 * T + C)[:, 0]][:, module]
    factor = rng.standard_normal((len(design), 5))[:, module]
    loading = rng.choice((-1.0, 1.0), count) * rng.uniform(0.5, 1.0, count)
    noise = rng.normal(0.0, 0.3, (len(design), count))
    x = mean + size * (a * T + b * C + c * T * C) + tightness * loading * factor + noise
    columns: dict[str, Array] = {
        "temperature": as_labels(LEVELS[t] for t in design[:, 0]),
        "CO2": as_labels(LEVELS[c] for c in design[:, 1]),
        **{f"gene {g + 1}": x[:, g] for g in range(count)},
    }
    names = [f"T{t} C{c} {i % copies + 1}" for i, (t, c) in enumerate(design)]
    return Table.of(columns, row_names=names)


def _sparse(rng: np.random.Generator, count: int, share: float) -> Array:
    """Return normal effects of a share of the genes, zero for the others."""
    effects: Array = rng.normal(0.0, 1.0, count) * (rng.random(count) < share)
    return effects


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


EXAMPLES: dict[str, tuple[Callable[[], Table | SquareMatrix | Sequences], str]] = {
    "planets": (planets, "200 places of five planets, which no straight line parts"),
    "decathlon": (decathlon, "41 athletes, ten events: numbers with a factor beside"),
    "iris": (iris, "150 flowers of three species: four lengths"),
    "swiss": (swiss, "47 provinces: six numbers"),
    "eurodist": (eurodist, "Distances by road between 21 cities"),
    "numerals": (numerals, "Sequences: the words for one to ten in 28 languages"),
}
"""How each is made, and what it holds."""

NETWORKS: dict[str, tuple[Callable[[], Path], str]] = {
    "alkanes": (alkanes, "Networks: how the carbons of 37 alkanes are joined"),
}
"""Examples that are folders of networks."""


def is_example(name: str) -> bool:
    """Whether a name is that of an example, and of no file.

    >>> is_example("planets"), is_example("planets.csv")
    (True, False)
    """
    return name in EXAMPLES and not Path(name).exists()


def networks_folder(name: str) -> Path:
    """Return a folder of networks: that of an example, where no folder has its name.

    >>> networks_folder("alkanes").is_dir(), networks_folder("mine").name
    (True, 'mine')
    """
    return NETWORKS[name][0]() if name in NETWORKS and not Path(name).exists() else Path(name)


def example(name: str) -> Table | SquareMatrix | Sequences:
    """Return an example by its name.

    >>> len(example("swiss"))
    47
    """
    return EXAMPLES[name][0]()
