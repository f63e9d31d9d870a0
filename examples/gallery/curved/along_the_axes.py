"""What irises at the ends and in the middle of two kernel axes would look like."""

import mercer as mc
from mercer import datasets, pictures

model = mc.KernelPCA(4, kernel=mc.Gaussian("median")).fit(datasets.iris())
picture = pictures.axis_points.describe(mc.axis_points(model), spectrum=model.spectrum_)
picture.save("along_the_axes.png")
