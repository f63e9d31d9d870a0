"""The simulated plants on the axes of a Gaussian kernel: the conditions part further."""

import numpy as np

import mercer as mc
from mercer import datasets, pictures

data = datasets.plants(effect=8.0)
conditions = np.array([name[:5] for name in data.row_names or ()])
model = mc.KernelPCA(4, kernel=mc.Gaussian("median")).fit(data)
picture = pictures.individuals.describe(
    model, colour=conditions, labels=0, title="Plants, Gaussian kernel of median bandwidth"
)
picture.save("plants_by_kernel.png")
