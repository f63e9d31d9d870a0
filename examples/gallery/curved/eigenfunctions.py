"""Nine axes of a disc and a ring as functions of the plane they lie in."""

import mercer as mc
from mercer import datasets, pictures

data = datasets.disc_and_ring()
model = mc.KernelPCA(9, kernel=mc.Gaussian(0.5**0.5)).fit(data)
picture = pictures.eigenfunctions.describe(
    model.transform, data.matrix(), spectrum=model.spectrum_, title="Disc and ring"
)
picture.save("eigenfunctions.png")
