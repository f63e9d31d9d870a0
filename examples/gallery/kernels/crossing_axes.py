"""A grid that is wider in one direction: two axes change places as the bandwidth grows."""

import numpy as np

import mercer as mc
from mercer import pictures

x, y = np.meshgrid(np.linspace(-1.0, 1.0, 12), np.linspace(-0.42, 0.42, 8))
grid, widths = np.column_stack([x.ravel(), y.ravel()]), np.geomspace(0.25, 1.5, 25)
model = mc.KernelPCA(3, kernel=mc.Gaussian(1.0))
path = mc.parameter_path(model, grid, "kernel__bandwidth", widths)
picture = pictures.parameter_path.describe(path)
picture.save("crossing_axes.png")
