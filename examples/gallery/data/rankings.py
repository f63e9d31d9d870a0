"""All 24 rankings of four things: a kernel of the pairs on which two rankings agree."""

from itertools import combinations, permutations

import numpy as np

import mercer as mc
from mercer import pictures

rankings = list(permutations("abcd"))
pairs = list(combinations("abcd", 2))
above = np.array([[r.index(p) < r.index(q) for p, q in pairs] for r in rankings])
model = mc.KernelPCA(2, kernel=mc.Gaussian(2.0)).fit(above.astype(float))
picture = pictures.individuals.describe(
    model,
    names=["".join(r) for r in rankings],
    colour=np.array([f"{r[0]} first" for r in rankings], object),
    labels=24,
    title="Rankings of a, b, c and d",
)
picture.save("rankings.png")
