"""Small data sets for examples and tests: embedded facts, and points drawn from a seed."""

from typing import TYPE_CHECKING

from mercer.datasets.examples import alkanes as alkanes
from mercer.datasets.examples import circles as circles
from mercer.datasets.examples import decathlon as decathlon
from mercer.datasets.examples import disc_and_ring as disc_and_ring
from mercer.datasets.examples import eurodist as eurodist
from mercer.datasets.examples import iris as iris
from mercer.datasets.examples import numerals as numerals
from mercer.datasets.examples import planets as planets
from mercer.datasets.examples import plants as plants
from mercer.datasets.examples import swiss as swiss
from mercer.datasets.examples import us_cities as us_cities
from mercer.settings import hints_in

if not TYPE_CHECKING:  # a checker of types would take every name to exist
    __getattr__ = hints_in(__name__)
