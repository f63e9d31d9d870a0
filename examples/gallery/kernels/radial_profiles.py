"""Kernels of a distance: how fast similarity falls, and that it may fall below zero."""

import numpy as np

import mercer as mc
from mercer import kernels, pictures

r = np.linspace(0.0, 4.0, 200)
families = {
    "Gaussian": mc.Gaussian(1.0),
    "Matérn 1.5": mc.Matern(1.5, 1.0),
    "Laplacian": mc.Laplacian(1.0),
    "rational quadratic": kernels.RationalQuadratic(0.5, 1.0),
    "Bessel, a ball of R³": kernels.Bessel(1.5, 0.5),
}
profiles = {name: k([0.0], r)[0] for name, k in families.items()}
picture = pictures.curves.describe(
    r, profiles, names=("distance", "k"), title="Functions of a distance"
)
picture.save("radial_profiles.png")
