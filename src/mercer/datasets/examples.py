"""Data sets that the literature uses, and examples that commands and the explorer know by name.

Each is a table of facts (results of games, measurements, road distances), in which there is no
copyright; the source is named where each is described. They are files beside this one, read when
they are asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from mercer.data.files import read
from mercer.data.matrices import SquareMatrix
from mercer.data.sequences import Sequences
from mercer.data.table import Table
from mercer.datasets.simulated import planets

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
    SquareMatrix(distances of 21 individuals)
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
