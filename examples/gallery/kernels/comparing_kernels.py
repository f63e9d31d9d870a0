"""Which kernels see the irises alike: the centred alignment of nine of them."""

import mercer as mc
from mercer import datasets, kernels, pictures

families = {
    "linear": mc.Linear(),
    "polynomial": mc.Polynomial(2, 1.0),
    "cosine": mc.Linear().normalised(),
    "Gaussian 0.3": mc.Gaussian(0.3),
    "Gaussian 1": mc.Gaussian(1.0),
    "Gaussian 3": mc.Gaussian(3.0),
    "Laplacian 1": mc.Laplacian(1.0),
    "Matérn 1.5": mc.Matern(1.5, 1.0),
    "rational quadratic": kernels.RationalQuadratic(1.0, 1.0),
}
found = mc.compare_kernels(families, datasets.iris().matrix(), permutations=0)
picture = pictures.agreement.describe(found)
picture.save("comparing_kernels.png")
