"""The spectrum of the irises as the bandwidth grows: from no axis that matters to one."""

import numpy as np

import mercer as mc
from mercer import datasets, pictures

x = datasets.iris().matrix()
widths = np.geomspace(0.1, 10.0, 25)
models = [mc.KernelPCA(6, kernel=mc.Gaussian(h)).fit(x) for h in widths]
median = mc.kernels.parameters(mc.Gaussian("median").resolve(x))["bandwidth"]
picture = pictures.bandwidth_path.describe(
    widths, [m.inertias_ for m in models], [m.inertia_ for m in models], chosen=median
)
picture.save("bandwidth_path.png")
