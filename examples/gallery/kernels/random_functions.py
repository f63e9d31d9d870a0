"""What functions a kernel thinks likely: draws of Gaussian processes of four kernels."""

import numpy as np

import mercer as mc
from mercer import kernels, pictures

at = np.linspace(0.0, 1.0, 160)
families = {
    "Gaussian: smooth": mc.Gaussian(0.15),
    "Laplacian: rough": mc.Laplacian(0.3),
    "periodic": kernels.Periodic(0.4, 1.0),
    "Brownian: begins at 0": kernels.Brownian(),
}
panels = []
for name, k in families.items():
    process = mc.GaussianProcess(k, noise_variance=1e-6, optimise=False)
    draws = process.sample(at[:, None], 4, prior=True, random_state=1)
    lines = {f"draw {i + 1}": draw for i, draw in enumerate(draws.T)}
    panels.append(pictures.curves.describe(at, lines, title=name))
picture = pictures.sheet(*panels, title="Four functions of each kernel", cell=(4.8, 3.2))
picture.save("random_functions.png")
