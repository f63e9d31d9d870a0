"""Multidimensional scaling: maps whose distances stand for given ones."""

from mercer.mds.classical import ClassicalMDS as ClassicalMDS
from mercer.mds.classical import Goodness as Goodness
from mercer.mds.stress import Shepard as Shepard
from mercer.mds.stress import StressMDS as StressMDS
from mercer.mds.stress import StressNotConverged as StressNotConverged
