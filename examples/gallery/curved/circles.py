"""Three circles on the first three axes of a Gaussian kernel: the first tells them apart."""

import mercer as mc
from mercer import datasets, pictures

data = datasets.circles()
model = mc.KernelPCA(3, kernel=mc.Gaussian(8**-0.5)).fit(data)
picture = pictures.four_panels.describe(
    model.individuals_, spectrum=model.spectrum_, colour=data.colour, title="Three circles"
)
picture.save("circles.png")
