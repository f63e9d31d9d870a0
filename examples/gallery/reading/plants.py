"""Twenty-four simulated plants under four conditions, with the ellipse of each condition's mean."""

import numpy as np

import mercer as mc
from mercer import datasets, pictures

data = datasets.plants(effect=8.0)
conditions = np.array([name[:5] for name in data.row_names or ()])
model = mc.PCA(standardize=True).fit(data)
picture = pictures.individuals.describe(
    model, colour=conditions, ellipses="confidence", labels=0, title="Plants by condition"
)
picture.save("plants.png")
