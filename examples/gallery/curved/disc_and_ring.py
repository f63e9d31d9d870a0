"""The disc and the ring on the first two axes of a Gaussian kernel."""

import mercer as mc
from mercer import datasets, pictures

data = datasets.disc_and_ring()
model = mc.KernelPCA(2, kernel=mc.Gaussian(0.5**0.5)).fit(data)
picture = pictures.individuals.describe(
    model, colour=data.colour, labels=0, title="A disc and a ring, Gaussian kernel"
)
picture.save("disc_and_ring.png")
