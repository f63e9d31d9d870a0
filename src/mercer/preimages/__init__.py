"""Points of the input space for points of a kernel's Hilbert space, with their errors."""

from mercer.preimages.finding import PreImages as PreImages
from mercer.preimages.finding import preimage as preimage
from mercer.preimages.targets import Sections as Sections
