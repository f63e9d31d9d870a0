"""The leading eigenpairs of a Gram operator, with proved errors and the story of how."""

from mercer.spectrum.dense import ILL_SOLVED as ILL_SOLVED
from mercer.spectrum.leading import leading as leading
from mercer.spectrum.limits import Limits as Limits
from mercer.spectrum.two_sides import decomposes_columns as decomposes_columns
from mercer.spectrum.two_sides import from_covariances as from_covariances
from mercer.spectrum.values import DEGENERATE as DEGENERATE
from mercer.spectrum.values import How as How
from mercer.spectrum.values import Operator as Operator
from mercer.spectrum.values import Spectrum as Spectrum
from mercer.spectrum.values import around as around
from mercer.spectrum.values import clusters as clusters
from mercer.spectrum.values import signs as signs
