"""Where irises move on kernel axes when one of their measures rises."""

import mercer as mc
from mercer import datasets, pictures

model = mc.KernelPCA(2, kernel=mc.Gaussian("median")).fit(datasets.iris())
slopes = mc.axis_slopes(model, standardize=True)
picture = pictures.slopes.describe(model.individuals_, slopes, spectrum=model.spectrum_)
picture.save("slopes.png")
