"""Kernels as arrows: a small angle between two says that they see the irises alike."""

import mercer as mc
from mercer import datasets, pictures

families = {
    "linear": mc.Linear(),
    "polynomial": mc.Polynomial(2, 1.0),
    "cosine": mc.Linear().normalised(),
    "Gaussian 0.3": mc.Gaussian(0.3),
    "Gaussian 1": mc.Gaussian(1.0),
    "Gaussian 3": mc.Gaussian(3.0),
}
found = mc.compare_kernels(families, datasets.iris().matrix(), permutations=0)
picture = pictures.kernel_map.describe(found)
picture.save("kernels_as_arrows.png")
