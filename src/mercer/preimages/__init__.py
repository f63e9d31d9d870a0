"""Points of the input space for points of a kernel's Hilbert space, with their errors."""

from mercer.preimages.feature_targets import Sections as Sections
from mercer.preimages.search import PreImages as PreImages
from mercer.preimages.search import preimage as preimage
