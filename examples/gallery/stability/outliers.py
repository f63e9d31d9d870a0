"""Sixty people and one typing error: who stands apart, and in which direction."""

import numpy as np

import mercer as mc
from mercer import pictures

rng = np.random.default_rng(7)
size = rng.standard_normal(60)
loads = np.array([8.0, 9.0, 1.5, 4.0])
table = np.array([172.0, 70.0, 42.0, 90.0]) + np.outer(size, loads)
table += 0.4 * loads * rng.standard_normal((60, 4))
table[17, 0], table[17, 1] = table[17, 1], table[17, 0]  # height and weight exchanged
model = mc.PCA(standardize=True).fit(table)
picture = pictures.outliers.describe(model)
picture.save("outliers.png")
