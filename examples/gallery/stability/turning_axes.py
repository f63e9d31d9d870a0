"""How far the axes of the decathlon turn when one athlete is left out."""

import mercer as mc
from mercer import datasets, pictures

model = mc.PCA(2, standardize=True).fit(datasets.decathlon())
picture = pictures.jackknife.describe(mc.jackknife(model), spectrum=model.spectrum_)
picture.save("turning_axes.png")
