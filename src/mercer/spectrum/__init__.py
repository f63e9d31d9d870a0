"""The leading eigenpairs of a Gram operator, with proved errors and the story of how."""

from mercer.spectrum.axes_and_signs import DEGENERATE as DEGENERATE
from mercer.spectrum.axes_and_signs import How as How
from mercer.spectrum.axes_and_signs import Operator as Operator
from mercer.spectrum.axes_and_signs import Spectrum as Spectrum
from mercer.spectrum.axes_and_signs import around as around
from mercer.spectrum.axes_and_signs import clusters as clusters
from mercer.spectrum.axes_and_signs import signs as signs
from mercer.spectrum.dense import ILL_SOLVED as ILL_SOLVED
from mercer.spectrum.leading import leading as leading
from mercer.spectrum.limits import Limits as Limits
from mercer.spectrum.two_sides import decomposes_columns as decomposes_columns
from mercer.spectrum.two_sides import from_covariances as from_covariances
