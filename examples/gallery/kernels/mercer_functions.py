"""Mercer's theorem for the Brownian kernel on [0, 1]: its eigenfunctions are waves."""

import numpy as np

import mercer as mc
from mercer import kernels, pictures

found = mc.mercer_decomposition(kernels.Brownian(), mc.Interval(0.0, 1.0), 5)
at = np.linspace(0.0, 1.0, 200)
waves = {f"λ = {v:.4f}": f(at) for v, f in zip(found.values, found.functions, strict=True)}
picture = pictures.curves.describe(at, waves, title="Eigenfunctions of min(x, y)")
picture.save("mercer_functions.png")
