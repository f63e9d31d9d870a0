"""Each event of the decathlon cut in thirds: what goes with being among the best of it."""

import numpy as np

import mercer as mc
from mercer import datasets, pictures

data = datasets.decathlon()
thirds = {}
for name, times in zip(data.active, data.matrix().T, strict=True):
    places = np.digitize(times, np.quantile(times, [1 / 3, 2 / 3]))
    thirds[name] = np.array([f"{name} low", f"{name} middle", f"{name} high"])[places]
picture = pictures.categories.describe(mc.MCA().fit(thirds), title="Thirds of each event")
picture.save("thirds.png")
