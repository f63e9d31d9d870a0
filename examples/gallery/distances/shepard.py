"""Distances on an ordinal map of European cities against road distances."""

import mercer as mc
from mercer import datasets, pictures

model = mc.StressMDS(2, loss="ordinal", random_state=0).fit(datasets.eurodist().values)
picture = pictures.shepard.describe(
    model.shepard_, title=f"European cities, stress-1 {model.stress_:.3f}"
)
picture.save("shepard.png")
